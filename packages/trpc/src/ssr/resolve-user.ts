import {
  type AuthConfig,
  type Identity,
  identify,
  isAuthError,
  type Reason,
  readCredentials,
} from '@sallyport/core'
import { isSessionOver, isTokenReason } from '@sallyport/core/protocol'
import { askTokenEndpoint } from './ask-token-endpoint.ts'
import { isWithoutLaxCookies, type Page, withHeaders } from './page.ts'
import type { AskForToken } from './token-source.ts'
import { withCookies, withoutCookies } from './with-cookies.ts'

/** What Step 1 and the token endpoint say of the user of a page. */
export type Standing =
  | {
      readonly status: 'authenticated'
      readonly identity: Identity
      /** Those of the page, with the cookies that its browser has now. */
      readonly headers: Headers
      /** Whether the JWT is the browser's own and nobody has been asked for another. */
      readonly isRefreshable: boolean
    }
  | {
      readonly status: 'unauthenticated' | 'unknown'
      /** Null for someone who shows nothing. */
      readonly reason: Reason | null
      readonly headers: Headers
    }

/** A standing, and what the browser has to be given with it. */
export interface Found {
  readonly standing: Standing
  readonly setCookies: readonly string[]
}

/** What a server renders all its pages with. */
export interface PageServer {
  readonly config: AuthConfig
  readonly ask: AskForToken
  readonly timeoutMs: number
  readonly onError: (error: unknown) => void
}

/** A JWT that has only so long left, in seconds, might expire before the page is done. */
const RENDER_SECONDS = 10

/** By the JWT in the cookie where it is good for a while, else by the token endpoint. Never rejects. */
export async function findStanding(page: Page, server: PageServer): Promise<Found> {
  const { config } = server
  const { identity, reason } = await identifyPage(page, config)
  if (reason !== null && !isTokenReason(reason)) return unknown(page, reason)
  const { token, sessionCookie } = readCredentials(page.header, config)
  if (identity !== null) {
    const isLasting = secondsLeft(identity, config) > RENDER_SECONDS || sessionCookie === null
    const own = found({ status: 'authenticated', identity, headers: page.headers, isRefreshable: isLasting })
    if (isLasting) return own
    const refreshed = await refresh(page, 'TOKEN_EXPIRED', server)
    return isUndecided(refreshed.standing) ? own : refreshed
  }
  if (token === null && sessionCookie === null) {
    if (isWithoutLaxCookies(page)) return unknown(page, reason)
    return found({ status: 'unauthenticated', reason: null, headers: page.headers })
  }
  return refresh(page, reason, server)
}

/**
 * Asks the token endpoint for a JWT in place of the one that was refused for this reason, where it can say anything. What comes back has
 * to pass Step 1 like any other before it is used or handed on. Never rejects.
 */
export async function refresh(page: Page, refused: Reason, server: PageServer): Promise<Found> {
  const { config, onError } = server
  const { sessionCookie, transport } = readCredentials(page.header, config)
  if (transport === 'bearer') return unknown(page, refused)
  // The endpoint goes by that cookie alone.
  if (sessionCookie === null) return over(page, 'SESSION_NOT_FOUND', { config, setCookies: [] })
  if (!page.mayMint) return unknown(page, refused)
  try {
    // Without keys nobody could tell what a JWT is worth.
    await config.issuers[0].jwks.ready()
    const { reason, setCookies } = await askTokenEndpoint(page, server)
    if (reason !== null)
      return isSessionOver(reason) ? over(page, reason, { config, setCookies }) : unknown(page, reason)
    const headers = withCookies(page.headers, setCookies)
    const fresh = await identifyPage(withHeaders(page, headers), config)
    // A cache on the way may have kept what another user was answered, both cookies included.
    if (fresh.identity !== null && fresh.identity.sessionId === sessionCookie.sessionId) {
      const { identity } = fresh
      return { standing: { status: 'authenticated', identity, headers, isRefreshable: false }, setCookies }
    }
    const wrong = fresh.reason ?? 'TOKEN_INVALID'
    onError(new Error(`The token endpoint sent a JWT that is refused here: ${wrong}`))
    return unknown(page, wrong)
  } catch (error) {
    if (isAuthError(error)) return unknown(page, error.reason)
    onError(error)
    return unknown(page, 'SESSIONS_UNAVAILABLE')
  }
}

/** A ban and a superseded secret are decisions: the browser's own JWT is rejected as well. */
function isUndecided(standing: Standing): boolean {
  if (standing.status !== 'unknown') return false
  return standing.reason !== 'ACCOUNT_BANNED' && standing.reason !== 'SECRET_SUPERSEDED'
}

type Step1 =
  | { readonly identity: Identity; readonly reason: null }
  | { readonly identity: null; readonly reason: Reason }

/** As the router will do it; it is no refusal yet that anyone should hear of. */
async function identifyPage(page: Page, config: AuthConfig): Promise<Step1> {
  try {
    const identity = await identify(page, 'query', { ...config, onEvent: undefined })
    return { identity, reason: null }
  } catch (error) {
    return { identity: null, reason: isAuthError(error) ? error.reason : 'KEYS_UNAVAILABLE' }
  }
}

/** Seconds until the JWT expires. */
export function secondsLeft({ expiresAt }: Identity, { now }: AuthConfig): number {
  return Math.max(0, Math.floor((expiresAt.getTime() - now().getTime()) / 1000))
}

/** The session has ended: whatever is asked for from now on is asked for by a stranger. */
export function over(
  { headers }: Page,
  reason: Reason,
  { config, setCookies }: { config: AuthConfig; setCookies: readonly string[] },
): Found {
  const standing = { status: 'unauthenticated', reason, headers: withoutCookies(headers, config) } as const
  return { standing, setCookies }
}

function unknown({ headers }: Page, reason: Reason): Found {
  return found({ status: 'unknown', reason, headers })
}

function found(standing: Standing): Found {
  return { standing, setCookies: [] }
}
