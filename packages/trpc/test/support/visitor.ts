import type { TestSession } from '@sallyport/core/testing'

/** What a client sends along with everything it asks for. */
export interface Visitor {
  readonly headers: Readonly<Record<string, string>> & { readonly cookie?: string }
  /** Sent in the first WebSocket message, and in the URL of server-sent events. */
  readonly connectionParams?: { readonly token: string }
}

/** The app's own origin: `createTestAuth` uses this base URL. */
export const ORIGIN = 'http://localhost:3000'

/** What a browser sends from a page of somebody else's. */
export const FOREIGN = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } as const

/** A browser on a page of the app's own. */
export function browser(session?: Pick<TestSession, 'cookie'>): Visitor {
  return { headers: { origin: ORIGIN, ...(session !== undefined && { cookie: session.cookie }) } }
}
