import type { AuthPlugin } from '@sallyport/core/auth'
import { emailCode } from '@sallyport/core/plugins/email-code'
import { oauth } from '@sallyport/core/plugins/oauth'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { removeTotp } from '../../src/plugins/totp/second-factor.ts'
import { insertPasskey } from '../support/insert-passkey.ts'
import { insertTotp } from '../support/insert-totp.ts'
import { totpCode } from '../support/totp-code.ts'
import { openBrowser } from './oauth/browser.ts'
import { startLocalProvider } from './oauth/local-provider.ts'
import { CLIENT } from './oauth/oidc-server.ts'
import { Authenticator } from './passkeys/authenticator.ts'

/** What happens once in another session, during the first check of a call and so before its change. */
const meanwhile: Partial<Record<'beforeFactors' | 'afterFactors', () => Promise<unknown>>> = {}

/** A plugin whose factor, which no user has, is read before or after those of the others. */
const busy = (when: keyof typeof meanwhile): AuthPlugin => ({
  id: when,
  secondFactor: {
    async methodsOf(_userId, db) {
      const happening = db.isTransaction ? undefined : meanwhile[when]
      if (happening !== undefined) delete meanwhile[when]
      await happening?.()
      return []
    },
    remove: async () => ({ notify() {} }),
  },
})

const acme = await startLocalProvider()
const auth = await createTestAuth({
  plugins: [
    busy('beforeFactors'),
    oauth({ providers: { acme: { ...CLIENT, issuer: acme.issuer, trustAmr: true } } }),
    passkeys({ requiredAtSignIn: true }),
    totp({ issuer: 'Test' }),
    busy('afterFactors'),
  ],
})
afterAll(() => auth.close())

const signedIn = async (email: string) => {
  const browser = openBrowser(auth)
  expect((await browser.signIn(email)).status).toBe('200')
  return browser
}
type Browser = Awaited<ReturnType<typeof signedIn>>

async function addPasskey(browser: Browser) {
  const authenticator = new Authenticator()
  const options = await browser.call('createPasskeyOptions')
  if (options.status !== '200') return { status: options.status, authenticator }
  const response = authenticator.create(options.body)
  const { status } = await browser.call('addPasskey', { response, name: 'Laptop' })
  return { status, authenticator }
}

const MISSING = '403 FACTOR_REQUIRED'

let user: { userId: string; email: string }
/** A thief has this session and knows the password, so the session is always fresh. */
let thief: Browser
beforeEach(async () => {
  for (const when of ['beforeFactors', 'afterFactors'] as const) delete meanwhile[when]
  user = await auth.createUser()
  thief = await signedIn(user.email)
})

describe('with an authenticator app, a session that has proved the password alone', () => {
  test('adds no passkey, which would be a second factor', async () => {
    const { body } = await thief.call('createPasskeyOptions')
    await insertTotp(auth, [user.userId])
    expect((await thief.call('createPasskeyOptions')).status).toBe(MISSING)
    const response = new Authenticator().create(body)
    expect((await thief.call('addPasskey', { response, name: 'Laptop' })).status).toBe(MISSING)
  })

  test('links no provider, which could vouch for a second factor', async () => {
    await insertTotp(auth, [user.userId])
    expect((await thief.call('linkAccount', { provider: 'acme', redirectTo: '/' })).status).toBe(MISSING)
  })

  test('adds a passkey once it has proved the app, for as long as that is recent', async () => {
    const { code } = await insertTotp(auth, [user.userId])
    expect((await thief.call('reauthenticateTotp', { code })).status).toBe('200')
    expect((await addPasskey(thief)).status).toBe('200')
  })
})

describe('with a passkey, a session that has proved the password alone', () => {
  let authenticator: Authenticator
  beforeEach(async () => {
    const added = await addPasskey(await signedIn(user.email))
    expect(added.status).toBe('200')
    authenticator = added.authenticator
  })

  test('does not remove it', async () => {
    const { id } = authenticator
    expect((await thief.call('removePasskey', { id })).status).toBe(MISSING)
    expect((await thief.call('listPasskeys')).body.passkeys).toHaveLength(1)
  })

  test('does not set up an authenticator app', async () => {
    expect((await thief.call('enableTotp')).status).toBe(MISSING)
  })

  test('does not confirm an authenticator app that it had begun before', async () => {
    const { email } = await auth.createUser()
    const first = await signedIn(email)
    const { secret } = (await first.call('enableTotp')).body
    expect((await addPasskey(await signedIn(email))).status).toBe('200')
    const code = totpCode(secret, auth)
    expect((await first.call('confirmTotp', { code })).status).toBe(MISSING)
  })

  test('adds no other passkey', async () => {
    expect((await addPasskey(thief)).status).toBe(MISSING)
  })
})

describe('a factor that the owner adds after the check, and before the change,', () => {
  const ownerAddsApp = () => insertTotp(auth, [user.userId])
  const ownerAddsPasskey = () => insertPasskey(auth, user.userId)

  test('is needed to add a passkey', async () => {
    const { body } = await thief.call('createPasskeyOptions')
    meanwhile.afterFactors = ownerAddsApp
    const response = new Authenticator().create(body)
    expect((await thief.call('addPasskey', { response, name: 'Laptop' })).status).toBe(MISSING)
  })

  test('is needed to set up an app', async () => {
    meanwhile.afterFactors = ownerAddsPasskey
    expect((await thief.call('enableTotp')).status).toBe(MISSING)
  })

  test('is needed to confirm an app', async () => {
    const { secret } = (await thief.call('enableTotp')).body
    meanwhile.afterFactors = ownerAddsPasskey
    expect((await thief.call('confirmTotp', { code: totpCode(secret, auth) })).status).toBe(MISSING)
  })

  test('is needed to link a provider, also if it was added during the visit', async () => {
    await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', user.userId).execute()
    const input = { provider: 'acme', redirectTo: '/home', errorTo: '/settings' }
    const { body } = await thief.call('linkAccount', input)
    await ownerAddsApp()
    const { page } = await thief.open(await thief.visit(body.url))
    expect(page).toBe('/settings?error=FACTOR_REQUIRED')
  })
})

test('a factor that the owner removes after the check no longer proves the right to remove another', async () => {
  const { code } = await insertTotp(auth, [user.userId])
  expect((await thief.call('reauthenticateTotp', { code })).status).toBe('200')
  const { authenticator } = await addPasskey(thief)
  const proved = auth.db.updateTable('session').set({ amr: '{"otp":99999999999}' })
  await proved.where('userId', '=', user.userId).execute()
  meanwhile.beforeFactors = () => auth.db.transaction().execute((trx) => removeTotp(user.userId, trx))
  expect((await thief.call('removePasskey', { id: authenticator.id })).status).toBe(MISSING)
})

test('an old proof of the factor is not enough, even if the password was proved again', async () => {
  const owner = await signedIn(user.email)
  const { authenticator } = await addPasskey(owner)
  auth.clock.advance(14 * 60)
  await owner.call('token')
  auth.clock.advance(120)
  await owner.call('token')
  expect((await owner.call('reauthenticate', { password: TEST_PASSWORD })).status).toBe('200')
  const reply = await owner.call('removePasskey', { id: authenticator.id })
  expect(reply.status).toBe('403 SESSION_NOT_FRESH')
})

describe('the last way to sign in is a passkey', () => {
  const [codes, provider] = [emailCode({ sendEmail: async () => {} }), { ...CLIENT, issuer: acme.issuer }]

  test.each<{ title: string; plugins: AuthPlugin[]; verified?: true; account?: object; status: string }>([
    { title: 'if nobody sends codes to the email', plugins: [], verified: true, status: '409 LAST_WAY_IN' },
    { title: 'if the email is not verified', plugins: [codes], status: '409 LAST_WAY_IN' },
    { title: 'unless codes are sent to a verified email', plugins: [codes], verified: true, status: '200' },
    {
      title: 'if the app does not offer the linked provider anymore',
      plugins: [oauth({ providers: { other: provider } })],
      account: { providerId: 'acme' },
      status: '409 LAST_WAY_IN',
    },
    {
      title: 'unless the app offers the linked provider',
      plugins: [oauth({ providers: { acme: provider } })],
      account: { providerId: 'acme' },
      status: '200',
    },
  ])('$title', async ({ plugins, verified = false, account = {}, status }) => {
    const auth = await createTestAuth({ plugins: [passkeys(), ...plugins] })
    onTestFinished(() => auth.close())
    const browser = openBrowser(auth)
    await browser.signIn((await auth.createUser()).email)
    const { authenticator } = await addPasskey(browser)
    await auth.db
      .updateTable('account')
      .set({ password: null, ...account })
      .execute()
    await auth.db.updateTable('user').set({ emailVerified: verified }).execute()
    expect((await browser.call('removePasskey', { id: authenticator.id })).status).toBe(status)
  })
})
