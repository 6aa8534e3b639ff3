import { type AuthClient, AuthClientError } from '@sallyport/trpc/client'

interface Targets {
  readonly redirectTo: string
  readonly errorTo: string
}

/**
 * Begins a sign-in at the demo provider, and returns the URL of its page. A sign-in method of `client.api`
 * would open `redirectTo` itself, and not send it.
 */
export async function beginSignIn(
  { fetch }: Pick<AuthClient, 'fetch'>,
  targets: Targets,
): Promise<{ url: string }> {
  const response = await fetch('/api/auth/sign-in/oauth', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ provider: 'demo', ...targets }),
  })
  const body = await response.json()
  if (!response.ok) throw new AuthClientError(response.status, body)
  return body
}
