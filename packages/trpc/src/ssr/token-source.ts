import { type AuthConfig, ConfigurationError, REASONS, type Reason } from '@sallyport/core'
import { AUTH_PATH, CLIENT_HEADER, ENDPOINTS } from '@sallyport/core/internal/protocol'
import { requireSecureUrl, UNCACHED } from '@sallyport/core/internal/server'
import type { Page } from './page-request.ts'
import { parseSetCookie } from './with-cookies.ts'

/** `auth.handler`, or any other function that handles the requests under `/api/auth`. */
export type AuthHandler = (
  request: Request,
  options?: { readonly remoteAddress?: string | undefined },
) => Promise<Response>

/** The token endpoint: a handler in this process, or the URL of another one. */
export type TokenSource =
  | AuthHandler
  | {
      /** The URL before `/api/auth`: https, or http on this machine. Redirects aren't followed. */
      readonly url: string
      /** @default globalThis.fetch */
      readonly fetch?: typeof globalThis.fetch
    }

/** Fetches a JWT; `reason` is null if the response has one. Throws without a response of an auth endpoint. */
export type FetchToken = (page: Page) => Promise<{ reason: Reason | null; setCookies: readonly string[] }>

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
    // The cookies of a proxy aren't for the browser.
    const { jwt, session } = config.cookies
    const nameOf = (setCookie: string) => parseSetCookie(setCookie).name
    const all = response.headers.getSetCookie()
    const setCookies = all.filter((setCookie) => [jwt, session].includes(nameOf(setCookie)))
    if (response.ok) {
      if (setCookies.some((setCookie) => nameOf(setCookie) === jwt)) return { reason: null, setCookies }
      throw new Error(`The token endpoint responded with ${response.status} without a JWT. ${CHECK}`)
    }
    const { code }: { code?: unknown } = Object(body)
    if (isReason(code) && REASONS[code].status === response.status) return { reason: code, setCookies }
    throw new Error(`The token endpoint responded with ${response.status}. ${CHECK}`)
  }
}

const CHECK = 'Check the option token of createServerAuth'

function createSend(
  source: TokenSource,
  config: AuthConfig,
): (page: Page, signal: AbortSignal) => Promise<Response> {
  const path = `${AUTH_PATH}${ENDPOINTS.token.path}`
  if (typeof source === 'function') {
    return ({ headers, address }, signal) => {
      const request = new Request(`${config.issuer}${path}`, { headers: headersFor(headers), signal })
      return source(request, { remoteAddress: address ?? undefined })
    }
  }
  // Over plain HTTP, an attacker could read the session secret.
  const { href, search, hash } = requireSecureUrl('token.url', source.url)
  if (search !== '' || hash !== '')
    throw new ConfigurationError('token.url must end before /api/auth, without a query or a hash')
  const url = `${href.replace(/\/+$/, '')}${path}`
  return ({ headers, address }, signal) => {
    const sent = headersFor(headers)
    // This address was verified. The auth server uses it if it trusts this server as a proxy.
    if (address !== null) sent['x-forwarded-for'] = address
    const request = source.fetch ?? globalThis.fetch
    // A redirect would send the cookies elsewhere; a cached response could be another user's.
    return request(url, { headers: sent, signal, redirect: 'manual', ...UNCACHED })
  }
}

/** Omits `Origin` and `Sec-Fetch-*`: they describe the page, and a program sends this request. */
function headersFor(page: Headers): Record<string, string> {
  return { cookie: page.get('cookie') ?? '', [CLIENT_HEADER]: '1', accept: 'application/json' }
}

/** Limits the time of `work`. Some edge runtimes lack `AbortSignal.timeout`, and it may ignore the signal. */
async function withTimeout<Value>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error(`The token endpoint did not respond within ${timeoutMs} ms. Increase timeoutMs`)
    reject(error)
    controller.abort(error)
  }, timeoutMs)
  try {
    return await Promise.race([work(controller.signal), late])
  } finally {
    clearTimeout(timer)
  }
}

export function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(REASONS, value)
}
