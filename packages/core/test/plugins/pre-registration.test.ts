import { type CodeEmail, emailCode } from '@sallyport/core/plugins/email-code'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { insertLink } from '../support/insert-link.ts'
import { Authenticator } from './passkeys/authenticator.ts'
import { type Browser, openBrowser } from './passkeys/browser.ts'

const emails: CodeEmail[] = []
const createAuth = (requiredAtSignIn: boolean) =>
  createTestAuth({
    plugins: [
      passkeys({ requiredAtSignIn }),
      emailCode({ sendEmail: async (email) => void (email.kind === 'email-code' && emails.push(email)) }),
    ],
  })
const servers = { required: await createAuth(true), optional: await createAuth(false) }
afterAll(() => Promise.all(Object.values(servers).map((server) => server.close())))

let auth = servers.required
const open = () => openBrowser(auth, '203.0.113.7')

/** The address belongs to the owner, who has never used the app. */
let user: { userId: string; email: string }
let attacker: Browser
let authenticator: Authenticator
async function register(server: typeof auth) {
  auth = server
  user = await auth.createUser()
  attacker = open()
  await attacker.signIn(user.email)
  authenticator = new Authenticator()
}

const isVerified = async () => {
  const query = auth.db.selectFrom('user').select('emailVerified').where('id', '=', user.userId)
  return Boolean((await query.executeTakeFirst())?.emailVerified)
}

const reset = async () => {
  const token = await insertLink(auth, { ...user, kind: 'reset-password' })
  const input = { token, newPassword: 'another horse battery staple' }
  expect((await open().call('resetPassword', input)).status).toBe('200')
}

async function signInByCode(): Promise<string> {
  const owner = open()
  await owner.call('requestEmailCode', { email: user.email })
  const code = await vi.waitFor(() => {
    const email = emails.find(({ to }) => to === user.email)
    if (email === undefined) throw new Error('No code came')
    return email.code
  })
  return (await owner.call('signInEmailCode', { code })).status
}

describe('an attacker who has registered the address of another person and added a passkey', () => {
  beforeEach(async () => {
    await register(servers.required)
    expect((await attacker.addPasskey(authenticator)).status).toBe('200')
  })

  test('has no verified address once the owner resets the password', async () => {
    await reset()
    expect((await attacker.call('getSession')).status).toMatch(/^401 /)
    await open().signInPasskey(authenticator)
    expect(await isVerified()).toBe(false)
  })

  test('has no verified address once the owner signs in by a code from an email', async () => {
    expect(await signInByCode()).toBe('403 FACTOR_REQUIRED')
    await open().signInPasskey(authenticator)
    expect(await isVerified()).toBe(false)
  })
})

describe('an attacker who has done so where passkeys are not required', () => {
  beforeEach(async () => {
    await register(servers.optional)
    expect((await attacker.addPasskey(authenticator)).status).toBe('200')
  })

  test.each([
    ['resets the password', reset],
    ['signs in by a code from an email', async () => expect(await signInByCode()).toBe('200')],
  ])('loses the passkey once the owner %s', async (_name, prove) => {
    await prove()
    expect(await isVerified()).toBe(true)
    expect((await open().signInPasskey(authenticator)).status).toBe('400 PASSKEY_INVALID')
  })
})

test('a reset of an account without a passkey verifies its address, and keeps the attacker out', async () => {
  await register(servers.required)
  await reset()
  expect(await isVerified()).toBe(true)
  expect((await attacker.call('createPasskeyOptions')).status).toMatch(/^401 /)
  expect((await open().signIn(user.email)).status).toBe('401 INVALID_CREDENTIALS')
})
