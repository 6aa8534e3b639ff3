import type { State } from './state.ts'

/** The outcome of a request: an answer, or why there is none. */
export interface Result {
  readonly status: number
  readonly reason: string | null
  readonly message: string | null
  /** The caller's session, as the resolver or the endpoint saw it. */
  readonly answer: Answer | null
}

/** What a resolver or an endpoint knows about the caller. */
export interface Answer {
  readonly userId: string
  readonly sessionId: string
  readonly role: string
}

/** The ids in the rows. */
export interface Names {
  readonly userId: string
  readonly sessionId: string
  readonly otherSessionId: string
}

/** From the service document (section 7) and its table of reasons. */
const STATUSES = {
  COOKIE_CONFLICT: 401,
  TOKEN_MISSING: 401,
  TOKEN_INVALID: 401,
  TOKEN_EXPIRED: 401,
  SESSION_NOT_FOUND: 401,
  SESSION_EXPIRED: 401,
  ACCOUNT_BANNED: 403,
  ROLE_REQUIRED: 403,
  SESSIONS_UNAVAILABLE: 503,
} as const

/** Why a request is rejected. */
export type ModelReason = keyof typeof STATUSES

/** Returns a reason's status. */
export function expectedStatus(reason: ModelReason | null): number {
  return reason === null ? 200 : STATUSES[reason]
}

/**
 * Returns the document's result for a state: the reason of the rejection, or null for an accepted request.
 * Shares no code with the library.
 *
 * @param connection `kept` was accepted before. Its identity is kept, so the JWT may have expired since
 * (section 5).
 */
export function expectedReason(state: State, connection: 'new' | 'kept' = 'new'): ModelReason | null {
  return step1(state, connection) ?? step2(state)
}

/** Returns the answer for an accepted request. */
export function expectedAnswer({ jwt, role }: State, names: Names): Answer {
  const isOther = jwt?.names === 'other session of theirs'
  return { userId: names.userId, sessionId: isOther ? names.otherSessionId : names.sessionId, role }
}

/** Validates the JWT: the token's kind, its signature, `exp`, and its user. */
function step1({ now, jwt, transport, cookies }: State, connection: 'new' | 'kept'): ModelReason | null {
  const sendsCookies = transport === 'cookie'
  if (sendsCookies && cookies === 'session twice') return 'COOKIE_CONFLICT'
  if (sendsCookies && cookies === 'JWT twice' && jwt !== null) return 'COOKIE_CONFLICT'
  if (jwt === null) return 'TOKEN_MISSING'
  // A key that is removed after its last token expired hasn't leaked, so open connections stay valid.
  const hasRetiredInTime = jwt.flaw === 'key retires' && connection === 'kept' && jwt.exp * 1000 <= now
  if (jwt.flaw !== null && !hasRetiredInTime) return 'TOKEN_INVALID'
  if (connection === 'new' && jwt.exp * 1000 <= now) return 'TOKEN_EXPIRED'
  // The two cookies must agree.
  const isOwn = jwt.names === 'own session' || jwt.names === 'other user, own session'
  if (sendsCookies && cookies === 'both' && !isOwn) return 'TOKEN_INVALID'
  if (sendsCookies && cookies === 'session of another tab') {
    return jwt.names === 'other session of theirs' ? null : 'TOKEN_INVALID'
  }
  return null
}

/** Looks up the session: id and owner together, `expiresAt`, the banned flag, and then the requirement. */
function step2({ now, jwt, session, ban, role, need, database }: State): ModelReason | null {
  if (database === 'unreachable') return 'SESSIONS_UNAVAILABLE'
  if (jwt?.names === 'session of another' || jwt?.names === 'other user, own session')
    return 'SESSION_NOT_FOUND'
  // The user's other session is valid.
  if (jwt?.names === 'own session') {
    if (session === null) return 'SESSION_NOT_FOUND'
    if (session.expiresAt === 'unreadable' || session.expiresAt <= now) return 'SESSION_EXPIRED'
  }
  const { banned, banExpires } = ban
  // A ban whose end is unreadable never ends.
  const isOver = typeof banExpires === 'number' && banExpires <= now
  if (banned && !isOver) return 'ACCOUNT_BANNED'
  if (need === 'admin' && role !== 'admin') return 'ROLE_REQUIRED'
  return null
}
