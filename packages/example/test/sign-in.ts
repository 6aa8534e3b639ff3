import { expect } from 'vitest'

/** Signs a demo user in. Returns the `Cookie` header. */
export async function signIn(url: string, name: 'ada' | 'grace' = 'grace'): Promise<string> {
  const answer = await fetch(`${url}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-sallyport': '1' },
    body: JSON.stringify({ email: `${name}@example.com`, password: 'correct horse battery staple' }),
  })
  expect(answer.status).toBe(200)
  return answer.headers
    .getSetCookie()
    .map((header) => header.split(';')[0])
    .join('; ')
}
