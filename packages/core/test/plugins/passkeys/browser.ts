import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { type PasskeyEmail, type PasskeysOptions, passkeys } from '@sallyport/core/plugins/passkeys'
import { createTestAuth, TEST_PASSWORD, type TestAuth } from '@sallyport/core/testing'
import { afterAll } from 'vitest'
import { cookiesAfter, get, post } from '../../support/requests.ts'
import type { Authenticator, Ceremony } from './authenticator.ts'

type Name = keyof typeof ENDPOINTS

interface Reply {
  readonly status: string
  // biome-ignore lint/suspicious/noExplicitAny: each test reads another response
  readonly body: any
}

/** A browser with its cookies. */
export interface Browser {
  cookie: string
  /** Calls an endpoint, and keeps its cookies. `status` is like `200` or `400 PASSKEY_INVALID`. */
  call(name: Name, input?: object): Promise<Reply>
  /** Signs in by password. */
  signIn(email: string): Promise<Reply>
  /** Signs in by passkey. */
  signInPasskey(authenticator: Authenticator, changes?: Partial<Ceremony>, input?: object): Promise<Reply>
  reauthenticate(authenticator: Authenticator, changes?: Partial<Ceremony>): Promise<Reply>
  addPasskey(authenticator: Authenticator, changes?: Partial<Ceremony>, input?: object): Promise<Reply>
}

export async function createPasskeyAuth(options: PasskeysOptions = {}) {
  const emails: PasskeyEmail[] = []
  const sendEmail = async (email: PasskeyEmail) => void emails.push(email)
  const plugins = [passkeys({ sendEmail, requiredAtSignIn: true, ...options })]
  const auth = await createTestAuth({ plugins, bearer: true })
  afterAll(() => auth.close())
  let clients = 0
  return {
    auth,
    emails,
    /** Each browser has another address. */
    open: () => openBrowser(auth, `203.0.113.${++clients % 250}`),
  }
}

/** @param remoteAddress rate limits apply to each address */
export function openBrowser(auth: Pick<TestAuth, 'handler'>, remoteAddress: string): Browser {
  const browser: Browser = {
    cookie: '',
    async call(name, input = {}) {
      const { method, path } = ENDPOINTS[name]
      const headers = { cookie: browser.cookie }
      const request = method === 'GET' ? get(path, headers) : post(path, input, headers)
      const response = await auth.handler(request, { remoteAddress })
      browser.cookie = cookiesAfter(browser.cookie, response)
      const body = await response.json()
      return { status: [response.status, body.code].filter(Boolean).join(' '), body }
    },
    signIn: (email) => browser.call('signInEmail', { email, password: TEST_PASSWORD }),
    async signInPasskey(authenticator, changes, input = {}) {
      const { body } = await browser.call('createPasskeySignInOptions')
      return browser.call('signInPasskey', { response: authenticator.get(body, changes), ...input })
    },
    async reauthenticate(authenticator, changes) {
      const { body } = await browser.call('createPasskeyReauthenticationOptions')
      return browser.call('reauthenticatePasskey', { response: authenticator.get(body, changes) })
    },
    async addPasskey(authenticator, changes, input = {}) {
      const { body } = await browser.call('createPasskeyOptions')
      const response = authenticator.create(body, changes)
      return browser.call('addPasskey', { response, name: 'Laptop', ...input })
    },
  }
  return browser
}
