// Runs on the edge: nothing here may need Node.
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { createServerAuth, inlineJson } from '@sallyport/trpc/ssr'

/** What an edge function knows. */
export interface Settings {
  readonly baseUrl: string
  readonly jwks: string
  /** The clock, in milliseconds. */
  readonly now: () => number
  /** Sends a request to the auth server. */
  readonly ask: (
    url: string,
    headers: Record<string, string>,
  ) => Promise<{ status: number; body: string; setCookies: string[] }>
}

/** Finds out for whom a page is rendered: the state, and what it would set. */
export function createPage({ baseUrl, jwks, now, ask }: Settings) {
  const serverAuth = createServerAuth({
    config: defineAuthConfig({ baseUrl, jwks: staticJwks(jwks), now: () => new Date(now()) }),
    token: {
      url: 'https://auth.example.com',
      async fetch(input, init) {
        const { status, body, setCookies } = await ask(
          String(input),
          Object.fromEntries(new Headers(init?.headers)),
        )
        const response = new Response(body, { status })
        for (const setCookie of setCookies) response.headers.append('set-cookie', setCookie)
        return response
      },
    },
    onError: () => {},
  })
  return async (cookie: string): Promise<{ state: string; setCookies: readonly string[] }> => {
    const { state, setCookies } = await serverAuth(new Request(`${baseUrl}/`, { headers: { cookie } }))
    return { state: inlineJson(state), setCookies }
  }
}
