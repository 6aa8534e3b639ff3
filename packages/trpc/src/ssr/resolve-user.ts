import {
  type AuthConfig,
  ConfigurationError,
  type FailureCode,
  type Identity,
  identify,
  isAuthError,
  type Reason,
} from '@sallyport/core'
import { ENDPOINTS, isSessionOver, isTokenReason } from '@sallyport/core/internal/protocol'
import { matchSessionCookie, readCredentials, reportFailure } from '@sallyport/core/internal/server'
import type { Page } from './page-request.ts'
import type { FetchToken } from './token-source.ts'
import { withCookies } from './with-cookies.ts'

/** The user of a page, according to Step 1 and the token endpoint. */
export type PageUser = {
  /** With the cookies that the browser has now. */
  readonly headers: Headers
  readonly setCookies: readonly string[]
} & (
  | {
      readonly status: 'authenticated'
      readonly reason: null
      readonly identity: Identity
      /** Whether the JWT is the browser's own and no other one was requested. */
      readonly isRefreshable: boolean
    }
  | { readonly status: 'unauthenticated' | 'unknown'; readonly reason: Reason | null }
)

export interface PageServer {
  readonly config: AuthConfig
  readonly fetchToken: FetchToken
}

/** A JWT with less time left might expire before the page is done. */
const RENDER_SECONDS = 10

const AUTHENTICATED = { status: 'authenticated', reason: null } as const

/** Resolves the user by the JWT in the cookie if it lasts long enough, else by a new one. Never rejects. */
export async function resolveUser(page: Page, server: PageServer): Promise<PageUser> {
  const { config } = server
  const { headers } = page
  const result = await identifyPage(page, config)
  if (typeof result === 'string' && !isTokenReason(result)) return unknown(page, result)
  const { token, sessionCookie } = readCredentials(page.header, config)
  if (typeof result === 'string') {
    if (token !== null || sessionCookie !== null) return refresh(page, result, server)
    // The browser may have withheld `SameSite=Lax` cookies: their absence says nothing about the user.
    if (page.header('sec-fetch-site') === 'cross-site' && !/^(GET|HEAD)$/.test(page.method))
      return unknown(page, result)
    return { status: 'unauthenticated', reason: null, headers, setCookies: [] }
  }
  const isLasting = secondsLeft(result, config) > RENDER_SECONDS || sessionCookie === null
  const current = { ...AUTHENTICATED, identity: result, headers, setCookies: [], isRefreshable: isLasting }
  if (isLasting) return current
  const refreshed = await refresh(page, 'TOKEN_EXPIRED', server)
  const { status, reason } = refreshed
  // A ban and a superseded secret are final: the browser's own JWT is rejected too.
  const isFinal = status !== 'unknown' || reason === 'ACCOUNT_BANNED' || reason === 'SECRET_SUPERSEDED'
  return isFinal ? refreshed : current
}

/** Requests a JWT, which must pass Step 1 before it is used or sent to the browser. Never rejects. */
export async function refresh(page: Page, rejected: Reason, server: PageServer): Promise<PageUser> {
  const { config } = server
  const credentials = readCredentials(page.header, config)
  const { sessionCookie, transport } = credentials
  if (transport === 'bearer') return unknown(page, rejected)
  // The endpoint reads only that cookie.
  if (sessionCookie === null) return signedOut(page, 'SESSION_NOT_FOUND', { config, setCookies: [] })
  if (!page.mayRefresh()) return unknown(page, rejected)
  try {
    // Without keys, the new JWT couldn't be verified.
    await config.issuers[0].jwks.ready()
    const { reason, setCookies } = await server.fetchToken(page)
    if (reason !== null)
      return isSessionOver(reason) ? signedOut(page, reason, { config, setCookies }) : unknown(page, reason)
    const headers = withCookies(page.headers, setCookies)
    const result = await identifyPage({ ...page, headers, header: (name) => headers.get(name) }, config)
    // A cache in between may return the response to another user, with both cookies.
    if (typeof result !== 'string' && (await matchSessionCookie(result, credentials, config)))
      return { ...AUTHENTICATED, identity: result, headers, setCookies, isRefreshable: false }
    const wrong = typeof result === 'string' ? result : 'TOKEN_INVALID'
    const message = `The JWT of the token endpoint was rejected: ${wrong}. Check config and token`
    report(new ConfigurationError(message), 'CONFIGURATION_INVALID', config)
    return unknown(page, wrong)
  } catch (error) {
    if (isAuthError(error)) return unknown(page, error.reason)
    report(error, 'BACKEND_UNAVAILABLE', config)
    return unknown(page, 'SESSIONS_UNAVAILABLE')
  }
}

function report(error: unknown, code: FailureCode, config: AuthConfig): void {
  reportFailure(error, { code, path: ENDPOINTS.token.path, step: 'endpoint' }, config)
}

/** Runs Step 1 as the router will do it, but without events: nothing has been rejected yet. */
async function identifyPage(page: Page, config: AuthConfig): Promise<Identity | Reason> {
  try {
    return await identify(page, 'query', { ...config, onEvent: undefined })
  } catch (error) {
    if (isAuthError(error)) return error.reason
    reportFailure(error, { path: null, step: 'step1' }, config)
    return 'KEYS_UNAVAILABLE'
  }
}

export function secondsLeft({ expiresAt }: Identity, { now }: AuthConfig): number {
  return Math.max(0, Math.floor((expiresAt.getTime() - now().getTime()) / 1000))
}

/** Returns a user without cookies: later calls are anonymous. */
export function signedOut(
  page: Page,
  reason: Reason,
  { config, setCookies }: { config: AuthConfig; setCookies: readonly string[] },
): PageUser {
  const deleted = [config.cookies.jwt, config.cookies.session].map((name) => `${name}=`)
  return { status: 'unauthenticated', reason, headers: withCookies(page.headers, deleted), setCookies }
}

function unknown({ headers }: Page, reason: Reason): PageUser {
  return { status: 'unknown', reason, headers, setCookies: [] }
}
