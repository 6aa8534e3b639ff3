import {
  type AuthConfig,
  type Identity,
  identify,
  isAuthError,
  type Reason,
  readCredentials,
} from '@sallyport/core'
import { isSessionOver, isTokenReason } from '@sallyport/core/protocol'
import { isWithoutLaxCookies, type Page } from './page.ts'
import type { FetchToken } from './token-source.ts'
import { withCookies, withoutCookies } from './with-cookies.ts'

/** The user of a page, according to Step 1 and the token endpoint. */
export type PageUser =
  | {
      readonly status: 'authenticated'
      readonly identity: Identity
      /** The headers of the page, with the cookies that its browser has now. */
      readonly headers: Headers
      /** Whether the JWT is the browser's own and no other one was requested. */
      readonly isRefreshable: boolean
    }
  | {
      readonly status: 'unauthenticated' | 'unknown'
      /** Null without credentials. */
      readonly reason: Reason | null
      readonly headers: Headers
    }

export interface ResolvedUser {
  readonly user: PageUser
  /** For the browser. */
  readonly setCookies: readonly string[]
}

/** What a server renders all its pages with. */
export interface PageServer {
  readonly config: AuthConfig
  readonly fetchToken: FetchToken
  readonly onError: (error: unknown) => void
}

/** A JWT with less time left might expire before the page is done. */
const RENDER_SECONDS = 10

/** Resolves the user by the JWT in the cookie if it lasts long enough, else by the token endpoint. Never rejects. */
export async function resolveUser(page: Page, server: PageServer): Promise<ResolvedUser> {
  const { config } = server
  const { headers } = page
  const { identity, reason } = await identifyPage(page, config)
  if (reason !== null && !isTokenReason(reason)) return unknown(page, reason)
  const { token, sessionCookie } = readCredentials(page.header, config)
  if (identity !== null) {
    const isLasting = secondsLeft(identity, config) > RENDER_SECONDS || sessionCookie === null
    const current = resolved({ status: 'authenticated', identity, headers, isRefreshable: isLasting })
    if (isLasting) return current
    const refreshed = await refresh(page, 'TOKEN_EXPIRED', server)
    return isTransient(refreshed.user) ? current : refreshed
  }
  if (token === null && sessionCookie === null) {
    if (isWithoutLaxCookies(page)) return unknown(page, reason)
    return resolved({ status: 'unauthenticated', reason: null, headers })
  }
  return refresh(page, reason, server)
}

/**
 * Requests a JWT from the token endpoint after the current one was rejected. The new one must pass Step 1 before it is
 * used or sent to the browser. Never rejects.
 */
export async function refresh(page: Page, rejected: Reason, server: PageServer): Promise<ResolvedUser> {
  const { config, onError } = server
  const { sessionCookie, transport } = readCredentials(page.header, config)
  if (transport === 'bearer') return unknown(page, rejected)
  // The endpoint reads only that cookie.
  if (sessionCookie === null) return signedOut(page, 'SESSION_NOT_FOUND', { config, setCookies: [] })
  if (!page.mayRefresh) return unknown(page, rejected)
  try {
    // Without keys, the new JWT couldn't be verified.
    await config.issuers[0].jwks.ready()
    const { reason, setCookies } = await server.fetchToken(page)
    if (reason !== null)
      return isSessionOver(reason) ? signedOut(page, reason, { config, setCookies }) : unknown(page, reason)
    const headers = withCookies(page.headers, setCookies)
    const fresh = await identifyPage({ ...page, headers, header: (name) => headers.get(name) }, config)
    const { identity } = fresh
    // A cache in between may return the response to another user, with both cookies.
    if (identity !== null && identity.sessionId === sessionCookie.sessionId)
      return { user: { status: 'authenticated', identity, headers, isRefreshable: false }, setCookies }
    const wrong = fresh.reason ?? 'TOKEN_INVALID'
    onError(new Error(`The JWT from the token endpoint was rejected: ${wrong}`))
    return unknown(page, wrong)
  } catch (error) {
    if (isAuthError(error)) return unknown(page, error.reason)
    onError(error)
    return unknown(page, 'SESSIONS_UNAVAILABLE')
  }
}

/** Whether a later attempt may succeed. A ban and a superseded secret are final: the browser's own JWT is rejected too. */
function isTransient(user: PageUser): boolean {
  if (user.status !== 'unknown') return false
  return user.reason !== 'ACCOUNT_BANNED' && user.reason !== 'SECRET_SUPERSEDED'
}

type Step1 =
  | { readonly identity: Identity; readonly reason: null }
  | { readonly identity: null; readonly reason: Reason }

/** Runs Step 1 as the router will do it, but without events: nothing has been rejected yet. */
async function identifyPage(page: Page, config: AuthConfig): Promise<Step1> {
  try {
    const identity = await identify(page, 'query', { ...config, onEvent: undefined })
    return { identity, reason: null }
  } catch (error) {
    return { identity: null, reason: isAuthError(error) ? error.reason : 'KEYS_UNAVAILABLE' }
  }
}

/** Returns the seconds until the JWT expires. */
export function secondsLeft({ expiresAt }: Identity, { now }: AuthConfig): number {
  return Math.max(0, Math.floor((expiresAt.getTime() - now().getTime()) / 1000))
}

/** Returns the user after the session has ended: later calls are anonymous. */
export function signedOut(
  { headers }: Page,
  reason: Reason,
  { config, setCookies }: { config: AuthConfig; setCookies: readonly string[] },
): ResolvedUser {
  return { user: { status: 'unauthenticated', reason, headers: withoutCookies(headers, config) }, setCookies }
}

function unknown({ headers }: Page, reason: Reason): ResolvedUser {
  return resolved({ status: 'unknown', reason, headers })
}

function resolved(user: PageUser): ResolvedUser {
  return { user, setCookies: [] }
}
