import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { TEST_PASSWORD, type TestAuth } from '@sallyport/core/testing'
import { cookiesAfter, get, post } from './requests.ts'

export interface Reply {
  readonly status: string
  // biome-ignore lint/suspicious/noExplicitAny: each test reads another response
  readonly body: any
}

/** A browser with its cookies. */
export interface Browser {
  cookie: string
  /** Sent with each call. */
  headers: Record<string, string>
  /** Calls an endpoint, and keeps its cookies. `status` is like `200` or `400 CODE_INVALID`. */
  call(name: keyof typeof ENDPOINTS, input?: object): Promise<Reply>
  /** Signs in by password. */
  signIn(email: string, password?: string): Promise<Reply>
}

/** The address of a browser that names none. */
export const DEFAULT_ADDRESS = '203.0.113.7'

export interface BrowserOptions {
  /** @default DEFAULT_ADDRESS */
  readonly address?: string
  /** @default none */
  readonly headers?: Record<string, string>
}

/** Opens a browser without cookies. */
export function openBrowser(
  auth: Pick<TestAuth, 'handler'>,
  { address = DEFAULT_ADDRESS, headers = {} }: BrowserOptions = {},
): Browser {
  const browser: Browser = {
    cookie: '',
    headers,
    async call(name, input = {}) {
      const { method, path } = ENDPOINTS[name]
      const sent = { ...browser.headers, ...(browser.cookie !== '' && { cookie: browser.cookie }) }
      const query = new URLSearchParams(Object.entries(input))
      const request = method === 'GET' ? get(`${path}?${query}`, sent) : post(path, input, sent)
      const response = await auth.handler(request, { remoteAddress: address })
      browser.cookie = cookiesAfter(browser.cookie, response)
      const body = await response.json()
      return { status: [response.status, body.code].filter(Boolean).join(' '), body }
    },
    signIn: (email, password = TEST_PASSWORD) => browser.call('signInEmail', { email, password }),
  }
  return browser
}
