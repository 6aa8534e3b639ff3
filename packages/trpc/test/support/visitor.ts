import type { TestSession } from '@sallyport/core/testing'

/** What a client sends with every request. */
export interface Visitor {
  readonly headers: Readonly<Record<string, string>> & { readonly cookie?: string }
  /** Sent in the first WebSocket message, and in the URL of server-sent events. */
  readonly connectionParams?: { readonly token: string }
}

/** The app's own origin: `createTestAuth` uses this base URL. */
export const ORIGIN = 'http://localhost:3000'

/** The headers of a browser on a page of another site. */
export const FOREIGN = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } as const

/** Returns the headers of a browser on a page of the app. */
export function browser(session?: Pick<TestSession, 'cookie'>): Visitor {
  return { headers: { origin: ORIGIN, ...(session !== undefined && { cookie: session.cookie }) } }
}
