import {
  type AuthConfig,
  type HeaderReader,
  type Identity,
  identify,
  isAuthError,
  REASONS,
  type Reason,
  readCookie,
  sessionsOf,
  validateSession,
} from '@sallyport/core'
import type { Context } from '../context.ts'
import { findByCookie, readRow, type SessionRow } from './session-row.ts'

/** The contents of a browser's cookies, and the results of both steps. */
export interface CookieInspection {
  /** Step 1. */
  readonly jwt: Finding & {
    /** The claims of the JWT; null if it isn't valid. */
    readonly identity: { userId: string; sessionId: string; keyId: string; expiresIn: number } | null
  }
  /** Step 2; null if Step 1 fails. */
  readonly session: Finding | null
  /** The session in the JWT, otherwise in the session cookie; null if it doesn't exist. */
  readonly row: SessionRow | null
  /** The error of the token endpoint; null if the session cookie is valid. */
  readonly rejectedRefresh: Reason | null
  readonly next: { readonly status: number; readonly message: string } & Finding
  /** Whether the next call would pass with a new JWT. */
  readonly refreshHelps: boolean
}

/** Null if the check passes. */
interface Finding {
  readonly reason: Reason | null
}

interface InspectOptions {
  readonly config: AuthConfig
  readonly db: Context['db']
}

/** Runs each step separately, without refreshing and without reporting events. */
export async function inspectCookies(
  cookie: string | null,
  { config: configured, db }: InspectOptions,
): Promise<CookieInspection> {
  const config = { ...configured, onEvent: undefined }
  const header: HeaderReader = (name) => (name === 'cookie' ? cookie : null)
  const sessions = sessionsOf(db)

  const [identity, jwtReason] = await outcome(() => identify({ method: 'GET', header }, 'query', config))
  const [, sessionReason] =
    identity === null ? [] : await outcome(() => validateSession(identity, sessions, config))
  const [sessionCookie] = await outcome(async () => readCookie(cookie, config.cookies.session))
  const own = await findByCookie(sessionCookie, { db, config })
  const [, rejectedRefresh] =
    own === null
      ? [null, 'SESSION_NOT_FOUND' as const]
      : await outcome(() => validateSession(own, sessions, config))

  const reason = jwtReason ?? sessionReason ?? null
  const named = identity ?? own
  return {
    jwt: { reason: jwtReason, identity: identity && describe(identity, config.now()) },
    session: sessionReason === undefined ? null : { reason: sessionReason },
    row: named && (await readRow(named, db)),
    rejectedRefresh,
    next: {
      reason,
      status: reason === null ? 200 : REASONS[reason].status,
      message: reason === null ? 'Both checks pass.' : REASONS[reason].message,
    },
    refreshHelps: reason?.startsWith('TOKEN_') === true && rejectedRefresh === null,
  }
}

/** Returns the result, or the reason for a rejection. */
async function outcome<Result>(ask: () => Promise<Result>): Promise<[Result, null] | [null, Reason]> {
  try {
    return [await ask(), null]
  } catch (error) {
    if (isAuthError(error)) return [null, error.reason]
    throw error
  }
}

function describe({ userId, sessionId, keyId, expiresAt }: Identity, now: Date) {
  return { userId, sessionId, keyId, expiresIn: Math.ceil((expiresAt.getTime() - now.getTime()) / 1_000) }
}
