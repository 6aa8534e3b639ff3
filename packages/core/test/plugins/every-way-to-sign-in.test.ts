import { anonymous } from '@sallyport/core/plugins/anonymous'
import { type CodeEmail, emailCode } from '@sallyport/core/plugins/email-code'
import { oauth } from '@sallyport/core/plugins/oauth'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth } from '@sallyport/core/testing'
import { TOTP } from 'otpauth'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { insertTotp } from '../support/insert-totp.ts'
import { cookiesAfter } from '../support/requests.ts'
import { type Browser, openBrowser } from './oauth/browser.ts'
import { startLocalProvider } from './oauth/local-provider.ts'
import { CLIENT } from './oauth/oidc-server.ts'
import { Authenticator } from './passkeys/authenticator.ts'

const MANY = { points: 1_000_000, duration: 60 }

const acme = await startLocalProvider()
const emails: CodeEmail[] = []
const auth = await createTestAuth({
  emailPassword: { limits: { address: MANY, account: MANY } },
  plugins: [
    oauth({
      providers: { acme: { ...CLIENT, issuer: acme.issuer } },
      limits: { address: MANY },
    }),
    passkeys({ limits: { address: MANY, options: MANY } }),
    totp({ issuer: 'Test', limits: { network: MANY, account: MANY } }),
    emailCode({
      limits: { address: MANY, email: MANY, mailbox: MANY },
      sendEmail: async (email) => void (email.kind === 'email-code' && emails.push(email)),
    }),
    anonymous({ limits: { address: MANY } }),
  ],
})
afterAll(() => auth.close())

const open = () => openBrowser(auth)

interface User {
  readonly userId: string
  readonly email: string
}

/** Creates a verified user with an account at the provider. */
async function createUser(): Promise<User> {
  const user = await auth.createUser()
  const { userId } = user
  await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', userId).execute()
  const now = auth.clock.now()
  const account = { id: crypto.randomUUID(), userId, accountId: userId, providerId: 'acme', password: null }
  await auth.db
    .insertInto('account')
    .values({ ...account, createdAt: now, updatedAt: now })
    .execute()
  return user
}

const codeOf = (secret: string) => new TOTP({ secret }).generate({ timestamp: auth.clock.now().getTime() })

/** Sets up an authenticator app, and keeps only its session. */
async function enableTotp({ email }: User): Promise<{ secret: string; recoveryCode: string }> {
  const browser = open()
  await browser.signIn(email)
  const { secret } = (await browser.call('enableTotp')).body
  const { status, body } = await browser.call('confirmTotp', { code: codeOf(secret) })
  expect(status).toBe('200')
  return { secret, recoveryCode: body.recoveryCodes[0] }
}

async function addPasskey({ email }: User): Promise<Authenticator> {
  const browser = open()
  await browser.signIn(email)
  const authenticator = new Authenticator()
  const { body } = await browser.call('createPasskeyOptions')
  const response = authenticator.create(body)
  expect((await browser.call('addPasskey', { response, name: 'Laptop' })).status).toBe('200')
  return authenticator
}

async function completeWith(browser: Browser, { email }: User, code: string): Promise<string> {
  const { status, body } = await browser.signIn(email)
  if (status !== '403 FACTOR_REQUIRED') return status
  return (await browser.call('signInTotp', { challenge: body.challenge.token, code })).status
}

interface Way {
  readonly name: string
  readonly amr: readonly string[]
  /** Whether it proves the second factor. */
  readonly provesFactor: boolean
  /** Prepares a user, and returns how they sign in once: the result is like `200` or `403 ACCOUNT_BANNED`. */
  prepare(user: User): Promise<(browser: Browser) => Promise<string>>
}

const WAYS: readonly Way[] = [
  {
    name: 'a password',
    amr: ['pwd'],
    provesFactor: false,
    prepare: async (user) => async (browser) => (await browser.signIn(user.email)).status,
  },
  {
    name: 'a provider',
    amr: ['oauth'],
    provesFactor: false,
    prepare: async (user) => async (browser) => {
      acme.person = { sub: user.userId, email: user.email, email_verified: true }
      const { page } = await browser.go('signInOauth')
      if (page === '/home') return '200'
      return `403 ${new URL(page, auth.config.baseUrl).searchParams.get('error')}`
    },
  },
  {
    name: 'a passkey',
    amr: ['passkey'],
    provesFactor: true,
    prepare: async (user) => {
      const authenticator = await addPasskey(user)
      return async (browser) => {
        const { body } = await browser.call('createPasskeySignInOptions')
        return (await browser.call('signInPasskey', { response: authenticator.get(body) })).status
      }
    },
  },
  {
    name: 'a code from an email',
    amr: ['email'],
    provesFactor: false,
    prepare:
      async ({ email }) =>
      async (browser) => {
        await browser.call('requestEmailCode', { email })
        const isOwn = ({ to }: CodeEmail) => to === email
        await vi.waitFor(() => expect(emails.some(isOwn)).toBe(true))
        const code = emails.findLast(isOwn)?.code
        return (await browser.call('signInEmailCode', { code })).status
      },
  },
  {
    name: 'a password and a code of an app',
    amr: ['pwd', 'otp'],
    provesFactor: true,
    prepare: async (user) => {
      const { secret } = await enableTotp(user)
      return (browser) => {
        auth.clock.advance(30)
        return completeWith(browser, user, codeOf(secret))
      }
    },
  },
  {
    name: 'a password and a recovery code',
    amr: ['pwd', 'recovery'],
    provesFactor: true,
    prepare: async (user) => {
      const { recoveryCode } = await enableTotp(user)
      return (browser) => completeWith(browser, user, recoveryCode)
    },
  },
  {
    name: "the app's own code",
    amr: ['saml'],
    provesFactor: false,
    prepare:
      async ({ userId }) =>
      async (browser) => {
        const headers = { cookie: browser.cookie, 'x-sallyport': '1' }
        const request = new Request(auth.config.baseUrl, { headers })
        try {
          const result = await auth.api.createSession({ userId, amr: ['saml'], request })
          browser.cookie = cookiesAfter(browser.cookie, new Response(null, { headers: result.headers }))
          return '200'
        } catch (error) {
          return `403 ${Object(error).reason}`
        }
      },
  },
]

const sessionOf = async (browser: Browser) => (await browser.call('getSession')).body.session.id as string
const ban = async (userId: string) => auth.ban(await auth.signIn({ userId }))
const countSessions = async (userId: string) =>
  (await auth.db.selectFrom('session').select('id').where('userId', '=', userId).execute()).length

async function expectAnonymous(browser: Browser): Promise<void> {
  expect((await browser.call('getSession')).status).toMatch(/^401 /)
  expect((await browser.call('token')).status).toMatch(/^401 /)
}

describe.each(WAYS)('a session that $name begins', ({ amr, prepare, provesFactor }) => {
  let user: User
  let signIn: (browser: Browser) => Promise<string>
  let browser: Browser
  beforeEach(async () => {
    user = await createUser()
    signIn = await prepare(user)
    browser = open()
  })

  test('records the methods with their time', async () => {
    expect(await signIn(browser)).toBe('200')
    const id = await sessionOf(browser)
    const row = await auth.db.selectFrom('session').select('amr').where('id', '=', id).executeTakeFirst()
    const times: Record<string, number> = JSON.parse(row?.amr ?? '')
    const now = Math.floor(auth.clock.now().getTime() / 1000)
    expect(times).toEqual(Object.fromEntries(amr.map((method) => [method, now])))
  })

  test('is not one of a banned user', async () => {
    await ban(user.userId)
    const before = await countSessions(user.userId)
    expect(await signIn(browser)).toBe('403 ACCOUNT_BANNED')
    expect(browser.cookie).not.toContain(auth.config.cookies.session)
    expect(await countSessions(user.userId)).toBe(before)
  })

  test('ends with a ban', async () => {
    await signIn(browser)
    await ban(user.userId)
    expect((await browser.call('getSession')).status).toBe('403 ACCOUNT_BANNED')
    expect((await browser.call('token')).status).toBe('403 ACCOUNT_BANNED')
  })

  test('needs the second factor of the account, unless it proves one', async () => {
    const hasApp = amr.includes('otp') || amr.includes('recovery')
    if (!hasApp) await insertTotp(auth, [user.userId])
    const before = await countSessions(user.userId)
    expect(await signIn(browser)).toBe(provesFactor ? '200' : '403 FACTOR_REQUIRED')
    expect(browser.cookie.includes(auth.config.cookies.session)).toBe(provesFactor)
    expect(await countSessions(user.userId)).toBe(before + (provesFactor ? 1 : 0))
  })

  test('is never the one that an attacker has planted in the browser', async () => {
    const attacker = await createUser()
    const theirs = open()
    await theirs.signIn(attacker.email)
    browser.cookie = theirs.cookie
    const planted = await sessionOf(browser)
    expect(await signIn(browser)).toBe('200')
    expect(await sessionOf(browser)).not.toBe(planted)
    await expectAnonymous(theirs)
  })

  test('ends on the next call once its row is deleted', async () => {
    await signIn(browser)
    await auth.db
      .deleteFrom('session')
      .where('id', '=', await sessionOf(browser))
      .execute()
    await expectAnonymous(browser)
  })

  test('gets a new JWT once that has expired', async () => {
    await signIn(browser)
    auth.clock.advance(15 * 60)
    expect((await browser.call('getSession')).status).toBe('401 TOKEN_EXPIRED')
    expect((await browser.call('token')).status).toBe('200')
    expect((await browser.call('getSession')).body.user.id).toBe(user.userId)
  })

  test('ends with a sign-out, for copies too', async () => {
    await signIn(browser)
    const copy = open()
    copy.cookie = browser.cookie
    expect((await browser.call('signOut')).status).toBe('200')
    await expectAnonymous(browser)
    await expectAnonymous(copy)
  })
})

describe('a session of an anonymous user', () => {
  let browser: Browser
  let userId: string
  beforeEach(async () => {
    browser = open()
    userId = (await browser.call('signInAnonymous')).body.userId
  })

  test('records no method', async () => {
    const row = await auth.db.selectFrom('session').select('amr').where('userId', '=', userId).execute()
    expect(row).toEqual([{ amr: null }])
  })

  test('gets a new JWT once that has expired, and ends with a ban', async () => {
    auth.clock.advance(15 * 60)
    expect((await browser.call('getSession')).status).toBe('401 TOKEN_EXPIRED')
    expect((await browser.call('token')).status).toBe('200')
    await ban(userId)
    expect((await browser.call('getSession')).status).toBe('403 ACCOUNT_BANNED')
  })

  test('ends on the next call once its row is deleted', async () => {
    await auth.db.deleteFrom('session').where('userId', '=', userId).execute()
    await expectAnonymous(browser)
  })

  test('ends with a sign-out, for copies too', async () => {
    const copy = open()
    copy.cookie = browser.cookie
    await browser.call('signOut')
    await expectAnonymous(copy)
  })
})
