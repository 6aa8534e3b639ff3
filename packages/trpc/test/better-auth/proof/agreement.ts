import { type Answer, type Headers, openSocket, PATHS, type Socket } from './ask.ts'
import type { ProofApp } from './open-app.ts'
import { credentialsOf } from './person.ts'
import type { Scene } from './steps.ts'

/** The headers that some browser sent after some step, and a connection that has been open since. */
export interface Credential {
  readonly kind: string
  readonly since: string
  readonly headers: Headers
  readonly socket: Socket
}

/** What a path and Better Auth say about a credential. */
export interface Compared {
  readonly kind: string
  readonly since: string
  readonly path: string
  readonly ours: Answer
  /** `userId/sessionId`, or null. */
  readonly theirs: string | null
}

/** Returns the credentials that the browsers have now, and opens their connections. */
export async function newCredentials(
  { admin, app, other, page }: Scene,
  { since, known }: { since: string; known: readonly Credential[] },
): Promise<Credential[]> {
  const seen = new Set(known.map(({ headers }) => JSON.stringify(headers)))
  const found = [page, other, admin.page]
    .flatMap((browser) => Object.entries(credentialsOf(browser)))
    .filter(([, headers]) => !seen.has(JSON.stringify(headers)))
  return Promise.all(
    found.map(async ([kind, headers]) => ({ kind, since, headers, socket: await openSocket(app, headers) })),
  )
}

/** Calls every path with a credential, and then asks Better Auth, which deletes expired rows. */
export async function compare(app: ProofApp, credential: Credential): Promise<Compared[]> {
  const { headers, kind, since, socket } = credential
  const asked = await Promise.all([
    ...Object.entries(PATHS).map(async ([path, ask]) => ({ path, ours: await ask(app, headers) })),
    socket.ask().then((ours) => ({ path: 'open WebSocket', ours })),
  ])
  const found = await app.auth.api.getSession({
    headers: new globalThis.Headers(headers),
    query: { disableCookieCache: true, disableRefresh: true },
  })
  const theirs = found && `${found.session.userId}/${found.session.id}`
  return asked.map(({ path, ours }) => ({ kind, since, path, ours, theirs }))
}

/** Rejections of sessions that Better Auth accepts. */
const STRICTER = /^ACCOUNT_BANNED$/

/** Rejections of sessions that Better Auth rejects, too. */
const REJECTIONS = /^(TOKEN_MISSING|TOKEN_INVALID|SESSION_NOT_FOUND|SESSION_EXPIRED|ACCOUNT_BANNED)$/

/** Returns false if we accept what Better Auth doesn't, or reject without a reason to. */
export function agrees({ kind, ours, path, theirs }: Compared): boolean {
  // Without fetch metadata and an origin, a WebSocket may be that of another site.
  if (kind === 'expo' && path.endsWith('WebSocket')) return /^(TOKEN_MISSING|ORIGIN_REJECTED)$/.test(ours)
  if (theirs === null) return REJECTIONS.test(ours)
  return ours === theirs || STRICTER.test(ours)
}
