import { type AuthConfig, readCookie, type Session } from '@sallyport/core'
import { readCredentials, withDeadline } from '@sallyport/core/internal/server'
import type { RenewSession, SentRequest } from '../server/sent-request.ts'
import { callerHeaders } from './caller-headers.ts'
import type { BetterAuth } from './instance.ts'
import { passCookies, readSessionCookie } from './response-cookies.ts'
import type { BetterAuthSource } from './source.ts'

/** A call waits this long for a renewal. If it takes longer, a later call of the session gets the cookies. */
const MAX_WAIT_MS = 500
const RETRY_AFTER_MS = 60_000
const MAX_ATTEMPTS = 1_000

interface Attempt {
  /** The response headers of Better Auth; null if it failed or didn't renew the session. Never rejects. */
  readonly response: Promise<Headers | null>
  readonly retryAt: number
  state: 'pending' | 'slow' | 'renewed' | 'failed'
}

/**
 * Renews sessions in requests whose response can set cookies. Calls Better Auth once when `updateAge` is due.
 * Each call that waits for the renewal gets the cookies, because a browser may never receive one of the
 * responses. A failed renewal never fails a call.
 */
export function createRenewal(source: BetterAuthSource<BetterAuth>, config: AuthConfig): RenewSession {
  /** Renewals by transport and token, until a call has passed on their cookies. */
  const attempts = new Map<string, Attempt>()

  function start(key: string, request: SentRequest): Attempt {
    const attempt: Attempt = {
      response: callBetterAuth(source, { request, config }).catch(() => null),
      retryAt: config.now().getTime() + RETRY_AFTER_MS,
      state: 'pending',
    }
    void attempt.response.then((headers) => {
      attempt.state = headers === null ? 'failed' : 'renewed'
    })
    attempts.set(key, attempt)
    const [oldest] = attempts.keys()
    if (attempts.size > MAX_ATTEMPTS && oldest !== undefined) attempts.delete(oldest)
    return attempt
  }

  async function finish(key: string, attempt: Attempt, request: SentRequest): Promise<() => void> {
    try {
      const headers = await withDeadline(attempt.response, MAX_WAIT_MS)
      if (headers === null) return () => {}
      return () => {
        attempts.delete(key)
        passCookies(headers, request, config)
      }
    } catch {
      attempt.state = 'slow'
      return () => {}
    }
  }

  return ({ session }, request) => {
    const isNeeded = isDue(session, source, config)
    if (!isNeeded && attempts.size === 0) return null
    const { transport, token } = readCredentials(request.header, config)
    // A browser's cookie and a bearer token are renewed apart. SQLite may give a session's id to another one.
    const key = `${transport} ${token}`
    const known = attempts.get(key)
    const isOver = known !== undefined && known.state !== 'renewed' && known.retryAt <= config.now().getTime()
    if (isOver) attempts.delete(key)
    const attempt = isOver ? undefined : known
    if (!request.setsHeaders || attempt?.state === 'failed' || attempt?.state === 'slow') return null
    if ((attempt === undefined && !isNeeded) || !isRenewable(session, request, source)) return null
    return finish(key, attempt ?? start(key, request), request)
  }
}

/** Returns whether `updateAge` has passed. Runs on every call. */
function isDue(
  { expiresAt }: Session,
  { current }: BetterAuthSource<BetterAuth>,
  config: AuthConfig,
): boolean {
  if (current === undefined) return false
  const { expiresIn, updateAge } = current.sessionConfig
  return expiresAt.getTime() - (expiresIn - updateAge) * 1000 <= config.now().getTime()
}

/**
 * Returns whether Better Auth may renew the session. Impersonations last for an hour and are never renewed.
 * Better Auth recognizes sessions that it must not extend only by the cookie.
 */
function isRenewable(
  session: Session,
  request: SentRequest,
  { auth, current }: BetterAuthSource<BetterAuth>,
): boolean {
  if (current === undefined || auth.options.session?.disableSessionRefresh) return false
  if ('impersonatedBy' in session && session.impersonatedBy) return false
  return readCookie(request.header('cookie'), current.authCookies.dontRememberToken.name, () => true) === null
}

/** Returns the response headers; null unless they set the caller's own session cookie again. */
async function callBetterAuth(
  source: BetterAuthSource<BetterAuth>,
  { request, config }: { request: SentRequest; config: AuthConfig },
): Promise<Headers | null> {
  const { api, options } = source.auth
  const context = await source.load()
  const { headers }: { headers: unknown } = await api.getSession({
    headers: callerHeaders(request, 'query', { config, context }),
    query: { disableCookieCache: true },
    returnHeaders: true,
    ...(options.session?.deferSessionRefresh && { method: 'POST' }),
  })
  if (!(headers instanceof Headers)) return null
  const { token } = readCredentials(request.header, config)
  return readSessionCookie(headers, source) === token ? headers : null
}
