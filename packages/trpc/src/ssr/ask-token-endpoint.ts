import { type AuthConfig, REASONS, type Reason } from '@sallyport/core'
import type { Page } from './page.ts'
import { isReason } from './reason.ts'
import type { AskForToken } from './token-source.ts'
import { parseSetCookie } from './with-cookies.ts'

/** What the token endpoint says of a page's session cookie. */
export interface TokenAnswer {
  /** Why there is no JWT; null where there is one. */
  readonly reason: Reason | null
  /** Those for our cookies alone. */
  readonly setCookies: readonly string[]
}

/**
 * Asks once. Only what is plainly an answer of ours decides anything.
 *
 * @throws Error when there is none in time
 */
export async function askTokenEndpoint(
  page: Page,
  { ask, config, timeoutMs }: { ask: AskForToken; config: AuthConfig; timeoutMs: number },
): Promise<TokenAnswer> {
  return within(timeoutMs, async (signal) => {
    const response = await ask(page, signal)
    const body: unknown = await response.json().catch(() => null)
    const setCookies = response.headers.getSetCookie().filter((setCookie) => isOurs(setCookie, config))
    if (response.ok) {
      const isIssued = setCookies.some((setCookie) => parseSetCookie(setCookie).name === config.cookies.jwt)
      if (isIssued) return { reason: null, setCookies }
      throw new Error(`The token endpoint answered ${response.status} without a JWT`)
    }
    const reason = reasonOf(body)
    if (reason === null || REASONS[reason].status !== response.status)
      throw new Error(`The token endpoint answered ${response.status}`)
    return { reason, setCookies }
  })
}

/** A proxy on the way may set cookies of its own, which are for us and not for the browser. */
function isOurs(setCookie: string, { cookies }: AuthConfig): boolean {
  const { name } = parseSetCookie(setCookie)
  return name === cookies.jwt || name === cookies.session
}

function reasonOf(body: unknown): Reason | null {
  if (typeof body !== 'object' || body === null || !('code' in body)) return null
  return isReason(body.code) ? body.code : null
}

/** Neither `AbortSignal.timeout`, which some runtimes at the edge do not have, nor trust in the other side to heed a signal. */
async function within<Value>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error(`The token endpoint has not answered in ${timeoutMs} ms`)
    reject(error)
    controller.abort(error)
  }, timeoutMs)
  try {
    return await Promise.race([work(controller.signal), late])
  } finally {
    clearTimeout(timer)
  }
}
