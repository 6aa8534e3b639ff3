import { type AuthConfig, ConfigurationError, REASONS, type Reason } from '@sallyport/core'
import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { requireSecureUrl } from '@sallyport/core/internal/server'
import type { Page } from './page.ts'
import { isReason } from './rejection.ts'
import { parseSetCookie } from './with-cookies.ts'

/** `auth.handler`, or any other function that handles the requests under `/api/auth`. */
export type AuthHandler = (
  request: Request,
  options?: { readonly remoteAddress?: string | undefined },
) => Promise<Response>

/** Where JWTs come from: the handler in this process, or another auth server. */
export type TokenSource =
  | AuthHandler
  | {
      /** The URL before `/api/auth`: https, or http on this machine. May be a proxy; redirects aren't followed. */
      readonly url: string
      /** @default globalThis.fetch */
      readonly fetch?: typeof globalThis.fetch
    }

/** The response of the token endpoint for a page. */
interface TokenResult {
  /** Why there is no JWT; null if there is one. */
  readonly reason: Reason | null
  readonly setCookies: readonly string[]
}

/**
 * Requests a JWT for a page. Only a response that is clearly from our token endpoint counts.
 *
 * @throws Error if there is none in time
 */
export type FetchToken = (page: Page) => Promise<TokenResult>

/** @throws ConfigurationError if the URL can't work */
export function createFetchToken(
  source: TokenSource,
  { config, timeoutMs }: { config: AuthConfig; timeoutMs: number },
): FetchToken {
  const send = createSend(source, config)
  return async (page) => {
    const { response, body } = await withTimeout(timeoutMs, async (signal) => {
      const response = await send(page, signal)
      return { response, body: (await response.json().catch(() => null)) as unknown }
    })
    // A proxy may set cookies of its own, which aren't for the browser.
    const { jwt, session } = config.cookies
    const named = response.headers
      .getSetCookie()
      .map((setCookie) => ({ setCookie, ...parseSetCookie(setCookie) }))
    const ours = named.filter(({ name }) => name === jwt || name === session)
    const setCookies = ours.map(({ setCookie }) => setCookie)
    if (response.ok) {
      if (ours.some(({ name }) => name === jwt)) return { reason: null, setCookies }
      throw new Error(`The token endpoint responded with ${response.status} without a JWT`)
    }
    const { code }: { code?: unknown } = Object(body)
    if (isReason(code) && REASONS[code].status === response.status) return { reason: code, setCookies }
    throw new Error(`The token endpoint responded with ${response.status}`)
  }
}

type Send = (page: Page, signal: AbortSignal) => Promise<Response>

function createSend(source: TokenSource, config: AuthConfig): Send {
  const path = `${AUTH_PATH}${ENDPOINTS.token.path}`
  if (typeof source === 'function') {
    const url = `${config.issuer}${path}`
    return ({ headers, address }, signal) =>
      source(new Request(url, { headers: headersFor(headers), signal }), {
        remoteAddress: address ?? undefined,
      })
  }
  const url = `${baseOf(source.url)}${path}`
  return ({ headers, address }, signal) => {
    const sent = headersFor(headers)
    // This address was verified. The auth server uses it if it trusts this server as a proxy.
    if (address !== null) sent['x-forwarded-for'] = address
    const request = source.fetch ?? globalThis.fetch
    // A redirect would send the cookies elsewhere; a cached response could be another user's.
    return request(url, { headers: sent, signal, redirect: 'manual', cache: 'no-store' })
  }
}

/** Omits `Origin` and `Sec-Fetch-*`: they describe the page, and a program sends this request. */
function headersFor(page: Headers): Record<string, string> {
  return { cookie: page.get('cookie') ?? '', [CLIENT_HEADER]: '1', accept: 'application/json' }
}

/** Over plain HTTP, an attacker could read the session secret. */
function baseOf(value: string): string {
  const { href, search, hash } = requireSecureUrl('token.url', value)
  if (search !== '' || hash !== '')
    throw new ConfigurationError('token.url must be what comes before /api/auth')
  return href.replace(/\/+$/, '')
}

/** Some edge runtimes lack `AbortSignal.timeout`, and the source may ignore the signal. */
async function withTimeout<Value>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error(`The token endpoint did not respond within ${timeoutMs} ms`)
    reject(error)
    controller.abort(error)
  }, timeoutMs)
  try {
    return await Promise.race([work(controller.signal), late])
  } finally {
    clearTimeout(timer)
  }
}
