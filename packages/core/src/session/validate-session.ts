import type { AuthAdapter } from '../adapters/adapter.ts'
import { AuthError, isAuthError } from '../errors.ts'
import { LOOKUP_TIMEOUT_MS, withDeadline } from './deadline.ts'
import { isBanned, type Session, type SessionKey } from './session.ts'

/** The clock and the patience of {@link validateSession}; an `AuthConfig` has both. */
export interface ValidateOptions {
  /** @default () => new Date() */
  readonly now?: () => Date
  /** Milliseconds after which the lookup is given up. @default 2_000 */
  readonly lookupTimeoutMs?: number
}

/**
 * Step 2: the session behind a proven identity, if it still counts (spec section 5). Always asks the adapter.
 *
 * @throws AuthError `SESSION_NOT_FOUND`, `SESSION_EXPIRED`, `ACCOUNT_BANNED`, or `SESSIONS_UNAVAILABLE` when the adapter
 * throws, does not answer in time or answers with anything but the session that was asked for
 */
export async function validateSession(
  identity: SessionKey,
  adapter: AuthAdapter,
  options: ValidateOptions = {},
): Promise<Session> {
  let session: Session | null
  try {
    const answer = adapter.findSession(identity)
    session = isPromise(answer)
      ? await withDeadline(answer, options.lookupTimeoutMs ?? LOOKUP_TIMEOUT_MS)
      : answer
    if (session !== null && !isSessionOf(session, identity)) throw new TypeError('Not the session asked for')
  } catch (cause) {
    throw isAuthError(cause) ? cause : new AuthError('SESSIONS_UNAVAILABLE', { cause })
  }
  const now = options.now?.() ?? new Date()
  if (session === null) throw new AuthError('SESSION_NOT_FOUND')
  // An unreadable date makes every comparison false, hence the negation. Numbers, because comparing dates costs more.
  if (!(session.expiresAt.getTime() > now.getTime())) throw new AuthError('SESSION_EXPIRED')
  if (isBanned(session.user, now)) throw new AuthError('ACCOUNT_BANNED')
  return session
}

/** Adapters are code of others: what is not plainly the session that was asked for must not let anyone in. */
function isSessionOf(session: Session, identity: SessionKey): boolean {
  return (
    session.id === identity.sessionId &&
    session.userId === identity.userId &&
    session.expiresAt instanceof Date &&
    session.user.id === identity.userId &&
    typeof session.user.banned === 'boolean' &&
    (session.user.banExpires === null || session.user.banExpires instanceof Date) &&
    typeof session.user.role === 'string'
  )
}

function isPromise<Value>(answer: Value | Promise<Value>): answer is Promise<Value> {
  return typeof answer === 'object' && answer !== null && 'then' in answer
}
