import type { Telemetry } from '../events/telemetry.ts'
import type { Identity } from '../jwt/identity.ts'
import { LOOKUP_TIMEOUT_MS, withDeadline } from '../protocol/deadline.ts'
import { AuthError, isAuthError } from '../protocol/errors.ts'
import { isThenable } from '../protocol/is-thenable.ts'
import { isInGrace } from './lifetime.ts'
import { isBanned, type Session, type SessionKey, type SessionReader, type StoredSession } from './session.ts'

export interface ValidateOptions {
  /** @default () => new Date() */
  readonly now?: () => Date
  /** Milliseconds after which the lookup times out. @default 2_000 */
  readonly lookupTimeoutMs?: number
  /** Receives the duration of the lookup. @default none */
  readonly telemetry?: Telemetry | undefined
}

/** The part of an {@link Identity} that Step 2 compares with the session row. */
export type ProvedSession = SessionKey & Pick<Identity, 'version' | 'issuer'>

/**
 * Step 2: returns the session behind a verified identity, or throws if it isn't valid anymore
 * (`docs/concepts.md`). Always queries the store.
 * @throws AuthError `SESSION_NOT_FOUND`; `TOKEN_INVALID` if another issuer owns the session or its
 * credentials were replaced since the token was issued; `SESSION_EXPIRED`; `ACCOUNT_BANNED`; or
 * `SESSIONS_UNAVAILABLE` if the store throws, times out, or returns anything but the requested session
 */
export function validateSession(
  identity: ProvedSession,
  sessions: SessionReader,
  options: ValidateOptions = {},
): Promise<Session> {
  const decide = (session: StoredSession, now: Date) => checkSession(session, identity, now)
  return readSession(identity, sessions, { options, decide })
}

/** The decision of {@link validateSession} about a session that was just read. */
export function checkSession(session: StoredSession, identity: ProvedSession, now: Date): Session {
  if (!isIssuerOf(session, identity) || !isCurrent(session, identity, now))
    throw new AuthError('TOKEN_INVALID')
  return requireValid(session, now)
}

/** Step 2 for a caller who proved the session, and so its version, by its secret. */
export function validateSessionOfSecret(
  key: SessionKey,
  sessions: SessionReader,
  options: ValidateOptions,
): Promise<Session> {
  return readSession(key, sessions, { options, decide: requireValid })
}

interface Reading {
  readonly options: ValidateOptions
  readonly decide: (session: StoredSession, now: Date) => Session
}

/** Reads a session and decides about it. One promise, because each costs a tenth of a lookup. */
async function readSession(
  key: SessionKey,
  sessions: SessionReader,
  { options: { lookupTimeoutMs = LOOKUP_TIMEOUT_MS, now, telemetry }, decide }: Reading,
): Promise<Session> {
  const startedAt = telemetry === undefined ? 0 : startLookup(sessions, telemetry)
  let session: StoredSession | null
  try {
    const found = sessions.findSession(key)
    session = isThenable(found) ? await withDeadline(found, lookupTimeoutMs) : found
    if (session !== null && !isSessionOf(session, key)) throw new TypeError('Not the requested session')
  } catch (cause) {
    if (telemetry !== undefined) endLookup(sessions, telemetry, { startedAt, error: cause })
    throw isAuthError(cause) ? cause : new AuthError('SESSIONS_UNAVAILABLE', { cause })
  }
  if (telemetry !== undefined) endLookup(sessions, telemetry, { startedAt })
  if (session === null) throw new AuthError('SESSION_NOT_FOUND')
  return decide(session, now?.() ?? new Date())
}

/** Returns when the lookup starts. From now on, the store records its measurements in this telemetry. */
function startLookup({ meter }: SessionReader, telemetry: Telemetry): number {
  if (meter !== undefined) meter.telemetry = telemetry
  return performance.now()
}

function endLookup(
  { meter }: SessionReader,
  telemetry: Telemetry,
  { startedAt, error }: { startedAt: number; error?: unknown },
): void {
  telemetry.record('lookup', (performance.now() - startedAt) / 1000, { system: meter?.system, error })
}

/** @throws AuthError `SESSION_EXPIRED` or `ACCOUNT_BANNED` */
function requireValid(session: StoredSession, now: Date): Session {
  // Negated, because every comparison with an unreadable date is false. Numbers compare faster than dates.
  if (!(session.expiresAt.getTime() > now.getTime())) throw new AuthError('SESSION_EXPIRED')
  if (session.ban === null) return session
  if (isBanned({ banned: true, banExpires: session.ban.until }, now)) throw new AuthError('ACCOUNT_BANNED')
  const valid: StoredSession = { ...session, ban: null }
  return valid
}

/**
 * Only our own tokens carry a version, and only they are valid for sessions without an issuer. The issuer of
 * a mapped table may be this app, which signs users in with another library.
 */
function isIssuerOf(session: Session, { version, issuer }: ProvedSession): boolean {
  return session.issuer === null ? version !== null : session.issuer === issuer
}

/** After a rotation, requests with the previous version may be in flight, so it stays valid for a moment. */
function isCurrent({ version, rotatedAt }: Session, identity: ProvedSession, now: Date): boolean {
  if (version === null || identity.version === null || version === identity.version) return true
  return rotatedAt !== null && version - 1 === identity.version && isInGrace(new Date(rotatedAt), now)
}

/** Stores can be third-party code: rejects anything that isn't plainly the requested session. */
function isSessionOf(session: StoredSession, key: SessionKey): boolean {
  return (
    session.id === key.sessionId &&
    session.userId === key.userId &&
    session.expiresAt instanceof Date &&
    (session.version === null || Number.isSafeInteger(session.version)) &&
    (session.issuer === null || typeof session.issuer === 'string') &&
    session.user.id === key.userId &&
    typeof session.user.role === 'string' &&
    (session.ban === null || session.ban.until === null || session.ban.until instanceof Date)
  )
}
