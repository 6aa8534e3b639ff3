import { type CodeEmail, emailCode } from '@sallyport/core/plugins/email-code'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { insertLink } from '../support/insert-link.ts'
import { Authenticator } from './passkeys/authenticator.ts'
import { type Browser, openBrowser } from './passkeys/browser.ts'

const emails: CodeEmail[] = []
const auth = await createTestAuth({
  plugins: [
    passkeys(),
    emailCode({ sendEmail: async (email) => void (email.kind === 'email-code' && emails.push(email)) }),
  ],
})
afterAll(() => auth.close())

const open = () => openBrowser(auth, '203.0.113.7')

/** The address belongs to the owner, who has never used the app. */
let user: { userId: string; email: string }
let attacker: Browser
let authenticator: Authenticator
beforeEach(async () => {
  user = await auth.createUser()
  attacker = open()
  await attacker.signIn(user.email)
  authenticator = new Authenticator()
})

const isVerified = async () => {
  const query = auth.db.selectFrom('user').select('emailVerified').where('id', '=', user.userId)
  return Boolean((await query.executeTakeFirst())?.emailVerified)
}

const reset = async () => {
  const token = await insertLink(auth, { ...user, kind: 'reset-password' })
  const input = { token, newPassword: 'another horse battery staple' }
  expect((await open().call('resetPassword', input)).status).toBe('200')
}

describe('an attacker who has registered the address of another person and added a passkey', () => {
  beforeEach(async () => {
    expect((await attacker.addPasskey(authenticator)).status).toBe('200')
  })

  test('has no verified address once the owner resets the password', async () => {
    await reset()
    expect((await attacker.call('getSession')).status).toMatch(/^401 /)
    await open().signInPasskey(authenticator)
    expect(await isVerified()).toBe(false)
  })

  test('has no verified address once the owner signs in by a code from an email', async () => {
    const owner = open()
    await owner.call('requestEmailCode', { email: user.email })
    const code = await vi.waitFor(() => {
      const email = emails.find(({ to }) => to === user.email)
      if (email === undefined) throw new Error('No code came')
      return email.code
    })
    expect((await owner.call('signInEmailCode', { code })).status).toBe('403 FACTOR_REQUIRED')
    await open().signInPasskey(authenticator)
    expect(await isVerified()).toBe(false)
  })
})

test('a reset of an account without a passkey verifies its address, and keeps the attacker out', async () => {
  await reset()
  expect(await isVerified()).toBe(true)
  expect((await attacker.call('createPasskeyOptions')).status).toMatch(/^401 /)
  expect((await open().signIn(user.email)).status).toBe('401 INVALID_CREDENTIALS')
})
