import { type PasskeyEmail, type PasskeysOptions, passkeys } from '@sallyport/core/plugins/passkeys'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { afterAll } from 'vitest'
import { type Browser as OpenedBrowser, openBrowser as open, type Reply } from '../../support/open-browser.ts'
import type { Authenticator, Ceremony } from './authenticator.ts'

/** A browser, and what its user does with an authenticator. */
export interface Browser extends OpenedBrowser {
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

/** @param address rate limits apply to each address */
export function openBrowser(auth: Pick<TestAuth, 'handler'>, address: string): Browser {
  const browser = open(auth, { address })
  return Object.assign(browser, {
    async signInPasskey(authenticator: Authenticator, changes?: Partial<Ceremony>, input = {}) {
      const { body } = await browser.call('createPasskeySignInOptions')
      return browser.call('signInPasskey', { response: authenticator.get(body, changes), ...input })
    },
    async reauthenticate(authenticator: Authenticator, changes?: Partial<Ceremony>) {
      const { body } = await browser.call('createPasskeyReauthenticationOptions')
      return browser.call('reauthenticatePasskey', { response: authenticator.get(body, changes) })
    },
    async addPasskey(authenticator: Authenticator, changes?: Partial<Ceremony>, input = {}) {
      const { body } = await browser.call('createPasskeyOptions')
      const response = authenticator.create(body, changes)
      return browser.call('addPasskey', { response, name: 'Laptop', ...input })
    },
  })
}
