import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import type { FactorEmail } from '@sallyport/core/plugins/totp'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, TEST_PASSWORD, type TestAuth } from '@sallyport/core/testing'
import { TOTP } from 'otpauth'
import { afterAll } from 'vitest'
import { createOutbox } from '../../support/outbox.ts'
import { cookiesAfter, get, post } from '../../support/requests.ts'

const PERIOD_SECONDS = 30

type Name = keyof typeof ENDPOINTS

interface Reply {
  readonly status: string
  // biome-ignore lint/suspicious/noExplicitAny: each test reads another response
  readonly body: any
}

/** A browser with its cookies. */
export interface Browser {
  cookie: string
  /** Calls an endpoint, and keeps its cookies. `status` is like `200` or `400 CODE_INVALID`. */
  call(name: Name, input?: object): Promise<Reply>
  /** Signs in by password. */
  signIn(email: string): Promise<Reply>
}

export async function createTotpAuth(options: { trustedDeviceSeconds?: number } = {}) {
  const emails: FactorEmail[] = []
  const sendEmail = async (email: FactorEmail) => void emails.push(email)
  const outbox = createOutbox()
  const auth = await createTestAuth({
    emailPassword: { sendEmail: outbox.sendEmail },
    plugins: [totp({ issuer: 'Test', sendEmail, ...options })],
  })
  afterAll(() => auth.close())
  return {
    auth,
    emails,
    outbox,
    open: () => openBrowser(auth),
    codeOf: (secret: string) => codeOf(secret, auth),
  }
}

function openBrowser(auth: Pick<TestAuth, 'handler'>): Browser {
  const browser: Browser = {
    cookie: '',
    async call(name, input = {}) {
      const { method, path } = ENDPOINTS[name]
      const headers = { cookie: browser.cookie }
      const request = method === 'GET' ? get(path, headers) : post(path, input, headers)
      const response = await auth.handler(request, { remoteAddress: '203.0.113.7' })
      browser.cookie = cookiesAfter(browser.cookie, response)
      const body = await response.json()
      return { status: [response.status, body.code].filter(Boolean).join(' '), body }
    },
    signIn: (email) => browser.call('signInEmail', { email, password: TEST_PASSWORD }),
  }
  return browser
}

function codeOf(secret: string, { clock }: Pick<TestAuth, 'clock'>): string {
  return new TOTP({ secret, period: PERIOD_SECONDS }).generate({ timestamp: clock.now().getTime() })
}
