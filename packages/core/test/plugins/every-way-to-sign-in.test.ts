import type { AuthEvent } from '@sallyport/core'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { everyPasswordOption } from '../support/every-plugin.ts'
import { insertLink } from '../support/insert-link.ts'
import { insertTotp } from '../support/insert-totp.ts'
import { createOutbox } from '../support/outbox.ts'
import {
  openSignInServer,
  SESSION_METHODS,
  SIGN_IN_METHODS,
  startSignInWorld,
} from '../support/sign-in-methods.ts'
import type { MadeUser } from '../support/user-maker.ts'
import { type Browser, newPerson, openBrowser } from './oauth/browser.ts'

const world = await startSignInWorld()
const { sendEmail, emails } = createOutbox()
const events: AuthEvent[] = []
const auth = await createTestAuth({
  emailPassword: { ...everyPasswordOption, sendEmail },
  plugins: world.plugins,
  onEvent: async (event) => void events.push(event),
})
afterAll(() => auth.close())
const server = await openSignInServer(auth, world)

const open = () => openBrowser(auth)

const sessionOf = async (browser: Browser) => (await browser.call('getSession')).body.session.id as string
const ban = async (userId: string) => auth.ban(await auth.signIn({ userId }))
const countSessions = async (userId: string) =>
  (await auth.db.selectFrom('session').select('id').where('userId', '=', userId).execute()).length

/** Whether the account knew the browsers of its sessions. */
const knownBrowsersOf = (userId: string) =>
  events.flatMap((event) =>
    event.type === 'session.created' && event.userId === userId ? [event.knownDevice] : [],
  )

/** Returns how many notices a user has got, once a later one has come. */
async function countNotices({ email }: MadeUser): Promise<number> {
  const notices = (to: string) => emails.filter((sent) => sent.kind === 'new-sign-in' && sent.to === to)
  const other = await server.createUser()
  await open().signIn(other.email)
  await eventually(() => expect(notices(other.email)).toHaveLength(1))
  return notices(email).length
}

async function expectAnonymous(browser: Browser): Promise<void> {
  expect((await browser.call('getSession')).status).toMatch(/^401 /)
  expect((await browser.call('token')).status).toMatch(/^401 /)
}

describe.each(SIGN_IN_METHODS)('a session that $name begins', ({ amr, prepare, needsFactor }) => {
  /** Whether a password is not enough: the account has a factor, and the browser is not trusted. */
  const asksFactor = amr.includes('pwd') && amr.length > 1
  let user: MadeUser
  let signIn: (browser: Browser) => Promise<string>
  let browser: Browser
  beforeEach(async () => {
    user = await server.createUser()
    signIn = await prepare(user, server)
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
    const failures = events.filter((event) => event.type === 'sign-in.failed' && event.userId === user.userId)
    expect(failures).toMatchObject([{ reason: 'ACCOUNT_BANNED' }])
  })

  test('tells the user of an unknown browser, unless an email or the app does, and remembers it', async () => {
    const isOfApp = amr.includes('saml')
    const notices = isOfApp || amr.includes('email') ? 0 : 1
    expect(await signIn(browser)).toBe('200')
    expect(knownBrowsersOf(user.userId).at(-1)).toBe(isOfApp ? null : false)
    expect(await countNotices(user)).toBe(notices)
    const { status } = await browser.signIn(user.email)
    const isKnown = knownBrowsersOf(user.userId).at(-1)
    expect([status, isKnown]).toEqual(asksFactor ? ['403 FACTOR_REQUIRED', false] : ['200', !isOfApp])
    expect(await countNotices(user)).toBe(notices + (isOfApp ? 1 : 0))
  })

  test('needs the second factor of the account, unless it proves one or the browser is trusted', async () => {
    if (!asksFactor) await insertTotp(auth, [user.userId])
    const before = await countSessions(user.userId)
    expect(await signIn(browser)).toBe(needsFactor ? '403 FACTOR_REQUIRED' : '200')
    expect(browser.cookie.includes(auth.config.cookies.session)).toBe(!needsFactor)
    expect(await countSessions(user.userId)).toBe(before + (needsFactor ? 0 : 1))
  })

  test('is never the one that an attacker has planted in the browser', async () => {
    const attacker = await server.createUser()
    const theirs = open()
    await theirs.signIn(attacker.email)
    browser.cookie = theirs.cookie
    const planted = await sessionOf(browser)
    expect(await signIn(browser)).toBe('200')
    expect(await sessionOf(browser)).not.toBe(planted)
    await expectAnonymous(theirs)
  })
})

/** The seven states of the service document, section 3. */
describe.each(SESSION_METHODS)('in each state, a session that $name begins', ({ amr, prepare }) => {
  const DAY_SECONDS = 24 * 60 * 60
  let browser: Browser
  let sessionId: string
  let userId: string
  beforeEach(async () => {
    browser = open()
    const signIn = await prepare(await server.createUser(), server)
    expect(await signIn(browser)).toBe('200')
    const { body } = await browser.call('getSession')
    sessionId = body.session.id
    userId = body.user.id
  })

  /** Calls an endpoint that checks the JWT and the session, and then the token endpoint. */
  const statuses = async (from = browser) => [
    (await from.call('getSession')).status,
    (await from.call('token')).status,
  ]
  const sessions = () => auth.db.selectFrom('session').select('id').where('id', '=', sessionId).execute()
  const pass = (seconds: number) => {
    auth.clock.advance(seconds)
    onTestFinished(() => auth.clock.advance(-seconds))
  }

  test('is valid, like its JWT', async () => {
    expect(await statuses()).toEqual(['200', '200'])
    expect((await browser.call('getSession')).body.session).toMatchObject({ id: sessionId, amr })
  })

  test('ends with a sign-out, for copies too', async () => {
    const copy = open()
    copy.cookie = browser.cookie
    expect((await browser.call('signOut')).status).toBe('200')
    expect(browser.cookie).not.toContain(auth.config.cookies.jwt)
    expect(await sessions()).toEqual([])
    expect(await statuses()).toEqual(['401 TOKEN_MISSING', '401 SESSION_NOT_FOUND'])
    expect(await statuses(copy)).toEqual(['401 SESSION_NOT_FOUND', '401 SESSION_NOT_FOUND'])
  })

  test('ends on the next call once its row is deleted', async () => {
    await auth.db.deleteFrom('session').where('id', '=', sessionId).execute()
    expect(await statuses()).toEqual(['401 SESSION_NOT_FOUND', '401 SESSION_NOT_FOUND'])
  })

  test('gets a new JWT once that has expired', async () => {
    pass(15 * 60)
    expect(await statuses()).toEqual(['401 TOKEN_EXPIRED', '200'])
    const { body } = await browser.call('getSession')
    expect([body.session.id, body.user.id]).toEqual([sessionId, userId])
  })

  test('has expired, and so has its JWT', async () => {
    pass(30 * DAY_SECONDS)
    expect(await statuses()).toEqual(['401 TOKEN_EXPIRED', '401 SESSION_EXPIRED'])
  })

  test('has expired, but its JWT has not', async () => {
    const expiresAt = auth.clock.now()
    await auth.db.updateTable('session').set({ expiresAt }).where('id', '=', sessionId).execute()
    expect(await statuses()).toEqual(['401 SESSION_EXPIRED', '401 SESSION_EXPIRED'])
  })

  test('is one of a user who was banned', async () => {
    await ban(userId)
    expect(await statuses()).toEqual(['403 ACCOUNT_BANNED', '403 ACCOUNT_BANNED'])
    expect((await browser.call('getSession')).body.message).toBe('Account banned')
    expect(await sessions()).toHaveLength(1)
  })
})

test.each(['reset-password', 'undo-email-change'] as const)('after %s, no browser is known', async (kind) => {
  const user = await server.createUser()
  const browser = open()
  await browser.signIn(user.email)
  const token = await insertLink(auth, { kind, ...user })
  const reset = kind === 'reset-password'
  const answer = reset
    ? await open().call('resetPassword', { token, newPassword: 'another rare password' })
    : await open().call('undoEmailChange', { token })
  expect(answer.status).toBe('200')
  await browser.call('requestEmailCode', { email: user.email })
  const received = () => world.emails.get(user.email) ?? Promise.reject(new Error('No email came'))
  const { code } = await eventually(received)
  expect((await browser.call('signInEmailCode', { code })).status).toBe('200')
  expect(knownBrowsersOf(user.userId)).toEqual([false, false])
})

test('a user who signs up with a provider is not told of it', async () => {
  world.acme.person = newPerson()
  const browser = open()
  await browser.go('signInOauth')
  const { id, email } = (await browser.call('getSession')).body.user
  expect(knownBrowsersOf(id)).toEqual([false])
  expect(await countNotices({ userId: id, email })).toBe(0)
  const laptop = open()
  await laptop.go('signInOauth')
  expect(await countNotices({ userId: id, email })).toBe(1)
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

  test('leaves the browser known for the user before', async () => {
    const user = await server.createUser()
    await browser.call('signOut')
    await browser.signIn(user.email)
    await browser.call('signOut')
    const before = browser.cookie
    expect((await browser.call('signInAnonymous')).status).toBe('200')
    expect(browser.cookie).toContain(before)
    await browser.call('signOut')
    await browser.signIn(user.email)
    expect(browser.cookie).toContain(before)
    expect(knownBrowsersOf(user.userId)).toEqual([false, true])
  })

  test('makes the browser known once the user has an account', async () => {
    const email = `${crypto.randomUUID()}@example.com`
    const account = { name: 'Ada', email, password: TEST_PASSWORD }
    expect((await browser.call('upgradeAnonymous', account)).status).toBe('200')
    await browser.call('signOut')
    await browser.signIn(email)
    expect(knownBrowsersOf(userId)).toEqual([null, true])
  })
})
