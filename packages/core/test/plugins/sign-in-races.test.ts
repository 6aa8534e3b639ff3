import type { AuthPlugin } from '@sallyport/core/auth'
import { emailCode } from '@sallyport/core/plugins/email-code'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dumpTables } from '../support/dump-tables.ts'
import { eventually } from '../support/eventually.ts'
import { insertChallenge, insertTotp } from '../support/insert-totp.ts'
import { openBrowser } from '../support/open-browser.ts'
import { createOutbox } from '../support/outbox.ts'
import type { MadeUser } from '../support/user-maker.ts'

/** What happens once during a sign-in. */
const happenings: Partial<Record<'beforeSession' | 'afterSession', () => Promise<unknown>>> = {}
let remember = async (): Promise<string[]> => []

async function happen(when: keyof typeof happenings): Promise<void> {
  const happening = happenings[when]
  delete happenings[when]
  await happening?.()
}

const busy: AuthPlugin = {
  id: 'busy',
  secondFactor: {
    async methodsOf() {
      await happen('beforeSession')
      return []
    },
    remove: async () => ({ notify() {} }),
  },
  browsers: { isKnown: async () => false, remember: () => remember(), async forget() {} },
}

const { sendEmail, emails } = createOutbox()
const failures: object[] = []
const auth = await createTestAuth({
  emailPassword: { sendEmail },
  plugins: [totp({ issuer: 'Test' }), emailCode({ sendEmail: async () => {} }), busy],
  session: { maxSessionsPerUser: 2, whenFull: 'reject' },
  onFailure: ({ code }) => void failures.push({ code }),
  onEvent: ({ type }) => (type === 'session.created' ? happen('afterSession') : Promise.resolve()),
})
afterAll(() => auth.close())

let user: MadeUser
beforeEach(async () => {
  user = await auth.createUser()
})
afterEach(() => {
  remember = async () => []
  failures.length = 0
})

const open = () => openBrowser(auth)
const sessions = () => auth.db.selectFrom('session').select('id').where('userId', '=', user.userId).execute()
const endSessions = () => auth.db.deleteFrom('session').where('userId', '=', user.userId).execute()
const rowsIn = async (table: string) =>
  (await dumpTables(auth))[table]?.filter(({ userId }) => userId === user.userId)

test('a second factor that the user adds during a sign-in is needed', async () => {
  happenings.beforeSession = () => insertTotp(auth, [user.userId])
  const browser = open()
  const { status, body } = await browser.signIn(user.email)
  expect([status, browser.cookie]).toEqual(['403 FACTOR_REQUIRED', ''])
  expect(body.challenge.methods).toContain('otp')
  expect(await sessions()).toEqual([])
})

describe('a session that ends while its browser is remembered, as by a reset', () => {
  test('leaves the browser unknown', async () => {
    happenings.afterSession = endSessions
    expect((await open().signIn(user.email)).status).toBe('200')
    expect(await rowsIn('knownDevice')).toEqual([])
    expect(await rowsIn('emailCodeBrowser')).toEqual([])
  })

  test('leaves it without trust', async () => {
    const { code } = await insertTotp(auth, [user.userId])
    const challenge = await insertChallenge(auth, user.userId)
    happenings.afterSession = endSessions
    expect((await open().call('signInTotp', { challenge, code, trustDevice: true })).status).toBe('200')
    expect(await rowsIn('trustedDevice')).toEqual([])
  })
})

describe('a cookie that another host has planted twice', () => {
  const planted = (name: string) => `service.device-${name}=a; service.device-${name}=b`

  test('rejects a sign-in before its session begins', async () => {
    const browser = open()
    await browser.signIn(user.email)
    await endSessions()
    browser.cookie = `${browser.cookie.replace(/; service\.device-email=[^;]*/, '')}; ${planted('email')}`
    expect((await browser.signIn(user.email)).status).toBe('401 COOKIE_CONFLICT')
    expect(await sessions()).toEqual([])
  })

  test('rejects a sign-up before the account exists', async () => {
    const browser = open()
    browser.cookie = planted('email')
    const account = { name: 'Ada', email: `${crypto.randomUUID()}@example.com`, password: 'a rare password' }
    expect((await browser.call('signUpEmail', account)).status).toBe('401 COOKIE_CONFLICT')
    browser.cookie = ''
    expect((await browser.call('signUpEmail', account)).status).toBe('200')
  })

  test('costs the browser its trust, but not the session, which has begun', async () => {
    const { code } = await insertTotp(auth, [user.userId])
    const challenge = await insertChallenge(auth, user.userId)
    const browser = open()
    browser.cookie = planted('trusted')
    const { status } = await browser.call('signInTotp', { challenge, code, trustDevice: true })
    expect([status, (await sessions()).length]).toEqual(['200', 1])
    expect(await rowsIn('trustedDevice')).toEqual([])
  })
})

test('a browser that cannot be remembered is signed in, and the failure reported', async () => {
  remember = () => Promise.reject(new Error('The table is full'))
  const browser = open()
  expect((await browser.signIn(user.email)).status).toBe('200')
  expect((await browser.call('getSession')).status).toBe('200')
  await eventually(() => expect(failures).toEqual([{ code: 'AFTER_RESPONSE_FAILED' }]))
})

test('a right password is reported even if the account has too many sessions', async () => {
  const browser = open()
  await browser.signIn(user.email)
  await open().signIn(user.email)
  const notices = () => emails.filter(({ kind, to }) => kind === 'new-sign-in' && to === user.email)
  await eventually(() => expect(notices()).toHaveLength(2))
  expect((await open().signIn(user.email)).status).toBe('409 TOO_MANY_SESSIONS')
  await eventually(() => expect(notices()).toHaveLength(3))
})
