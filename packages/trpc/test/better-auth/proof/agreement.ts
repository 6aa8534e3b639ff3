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
  /** Whether Better Auth accepts a user who is banned. */
  readonly isBanned: boolean
}

/** Returns the credentials that the browsers have now and didn't have before, with open connections. */
export function newCredentials(
  { admin, app, other, page }: Scene,
  { since, seen }: { since: string; seen: Set<string> },
): Promise<Credential[]> {
  const found = [page, other, admin.page]
    .flatMap((browser) => Object.entries(credentialsOf(browser)))
    .filter(([, headers]) => !seen.has(JSON.stringify(headers)))
  for (const [, headers] of found) seen.add(JSON.stringify(headers))
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
  const isBanned = found?.user.banned === true
  return asked.map(({ path, ours }) => ({ kind, since, path, ours, theirs, isBanned }))
}

/** Rejections of sessions that Better Auth rejects, too. */
const REJECTIONS = /^(TOKEN_MISSING|TOKEN_INVALID|SESSION_NOT_FOUND|SESSION_EXPIRED|ACCOUNT_BANNED)$/

/** A ban closes the connection, whose client connects again. */
const CLOSED = 'closed 4403 ACCOUNT_BANNED'

/** Returns false if we accept what Better Auth doesn't, or reject without a reason to. */
export function agrees({ isBanned, kind, ours, path, theirs }: Compared): boolean {
  // Without fetch metadata and an origin, a WebSocket may be that of another site.
  if (kind === 'expo' && path.endsWith('WebSocket')) return /^(TOKEN_MISSING|ORIGIN_REJECTED)$/.test(ours)
  if (path === 'open WebSocket' && ours === CLOSED) return true
  if (theirs === null) return REJECTIONS.test(ours)
  // Better Auth accepts banned users who still have a session.
  return ours === (isBanned ? 'ACCOUNT_BANNED' : theirs)
}
