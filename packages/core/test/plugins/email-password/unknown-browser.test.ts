import { emailCode } from '@sallyport/core/plugins/email-code'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { dumpTables } from '../../support/dump-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { insertLink } from '../../support/insert-link.ts'
import { openBrowser } from '../../support/open-browser.ts'

const VICTIM_PASSWORD = 'the password of the victim'
const PLENTY = { points: 1_000_000, duration: 60 }
const REJECTED = '401 INVALID_CREDENTIALS'

async function createAuth(options: { requireVerified?: boolean; accountPoints?: number } = {}) {
  const { requireVerified = false, accountPoints = 1_000_000 } = options
  const emails: { kind: string; to: string; token?: string | null; code?: string }[] = []
  const sendEmail = async (email: (typeof emails)[number]) => void emails.push(email)
  const limits = { account: { points: accountPoints, duration: 60 }, address: PLENTY }
  const auth = await createTestAuth({
    bearer: true,
    emailPassword: { requireVerified, sendEmail, limits },
    plugins: [emailCode({ sendEmail })],
    // Deferred work may find the database closed.
    onFailure: () => {},
  })
  afterAll(() => auth.close())
  /** Waits for an email to an address, and returns the input of the endpoint that its link or code is for. */
  const received = (kind: string, to: string) =>
    eventually(() => {
      const found = emails.findLast((email) => email.kind === kind && email.to === to)
      if (found === undefined) throw new Error(`No ${kind} came to ${to}`)
      return found.code === undefined ? { token: found.token ?? '' } : { code: found.code }
    })
  return { auth, received, open: () => openBrowser(auth) }
}

const newEmail = () => `${crypto.randomUUID()}@example.com`

describe('with requireVerified, after a stranger has signed up with the address of a victim', async () => {
  const { auth, received, open } = await createAuth({ requireVerified: true })

  test("the stranger's link admits neither of them, and a reset gives the account to the victim", async () => {
    const email = newEmail()
    await open().call('signUpEmail', { name: 'Eve', email, password: TEST_PASSWORD })
    const link = await received('verify-email', email)
    const victim = open()
    await victim.call('signUpEmail', { name: 'Ada', email, password: VICTIM_PASSWORD })
    await received('sign-up-taken', email)
    for (const input of [link, { ...link, password: VICTIM_PASSWORD }])
      expect((await victim.call('verifyEmail', input)).status).toBe(REJECTED)
    expect((await open().signIn(email)).status).toBe('403 EMAIL_NOT_VERIFIED')

    await victim.call('requestPasswordReset', { email })
    const reset = { ...(await received('reset-password', email)), newPassword: VICTIM_PASSWORD }
    expect((await victim.call('resetPassword', reset)).status).toBe('200')
    expect((await victim.signIn(email, VICTIM_PASSWORD)).status).toBe('200')
    expect((await open().signIn(email)).status).toBe(REJECTED)
  })

  test('the user who signed up opens the link with the password, on any device', async () => {
    const email = newEmail()
    await open().call('signUpEmail', { name: 'Ada', email, password: TEST_PASSWORD })
    const link = { ...(await received('verify-email', email)), password: TEST_PASSWORD }
    expect((await open().call('verifyEmail', link)).status).toBe('200')
    expect((await open().signIn(email)).status).toBe('200')
    expect(
      await auth.db.selectFrom('user').select('emailVerified').where('email', '=', email).execute(),
    ).toEqual([{ emailVerified: 1 }])
  })
})

describe('a link in a browser', async () => {
  const { auth, received, open } = await createAuth()
  let user: { userId: string; email: string }
  beforeEach(async () => {
    user = await auth.createUser()
  })
  const verifying = async () => ({ token: await insertLink(auth, { kind: 'verify-email', ...user }) })
  const changing = async (email = newEmail()) => ({
    token: await insertLink(auth, { kind: 'change-email', userId: user.userId, email }),
  })

  test("to which a stranger changes their email doesn't give them the address of a victim", async () => {
    const stranger = open()
    await stranger.signIn(user.email)
    const email = newEmail()
    await stranger.call('changeEmail', { newEmail: email })
    const victim = open()
    expect((await victim.call('verifyEmail', await received('change-email', email))).status).toBe(REJECTED)
    expect((await victim.call('signUpEmail', { name: 'Ada', email, password: VICTIM_PASSWORD })).status).toBe(
      '200',
    )
  })

  test.each([
    ['verify-email', verifying],
    ['change-email', () => changing()],
  ])('that the account does not know changes nothing: %s', async (_kind, create) => {
    const link = await create()
    const other = open()
    await other.signIn((await auth.createUser()).email)
    for (const browser of [open(), other]) {
      const before = await dumpTables(auth)
      const { body, status } = await browser.call('verifyEmail', link)
      expect(status).toBe(REJECTED)
      expect(body.message).toMatch(/^Enter the password of your account, or sign in/)
      expect(await dumpTables(auth)).toEqual(before)
    }
    expect((await open().call('verifyEmail', { ...link, password: 'wrong password' })).status).toBe(REJECTED)
    // The link is still valid.
    expect((await open().call('verifyEmail', { ...link, password: TEST_PASSWORD })).status).toBe('200')
  })

  test.each([
    ['verify-email', verifying],
    ['change-email', () => changing()],
  ])('that has signed in before needs no password: %s', async (_kind, create) => {
    const browser = open()
    await browser.signIn(user.email)
    await browser.call('signOut')
    expect((await browser.call('verifyEmail', await create())).status).toBe('200')
  })

  test('that has signed in needs no password, also in a program without cookies', async () => {
    const program = open()
    program.headers = { 'x-sallyport-session': 'none' }
    const { sessionToken } = (await program.signIn(user.email)).body
    program.headers = { 'x-sallyport-session': sessionToken }
    expect((await program.call('verifyEmail', await verifying())).status).toBe('200')
    await program.call('signOut')
    expect((await program.call('verifyEmail', await verifying())).status).toBe(REJECTED)
  })

  test('whose session has expired needs the password', async () => {
    const { cookie, sessionId } = await auth.signIn(user)
    const browser = open()
    browser.cookie = cookie
    const expired = auth.db.updateTable('session').set({ expiresAt: new Date(0) })
    await expired.where('id', '=', sessionId).execute()
    expect((await browser.call('verifyEmail', await verifying())).status).toBe(REJECTED)
  })

  test('of a user without a password works after a sign-in there', async () => {
    await auth.db.deleteFrom('account').where('userId', '=', user.userId).execute()
    await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', user.userId).execute()
    const link = await changing()
    const browser = open()
    for (const input of [link, { ...link, password: TEST_PASSWORD }])
      expect((await browser.call('verifyEmail', input)).status).toBe(REJECTED)
    await browser.call('requestEmailCode', { email: user.email })
    await browser.call('signInEmailCode', await received('email-code', user.email))
    expect((await browser.call('verifyEmail', link)).status).toBe('200')
  })

  test('is unknown again after a reset', async () => {
    const browser = open()
    await browser.signIn(user.email)
    const token = await insertLink(auth, { kind: 'reset-password', ...user })
    await open().call('resetPassword', { token, newPassword: VICTIM_PASSWORD })
    expect((await browser.call('verifyEmail', await verifying())).status).toBe(REJECTED)
  })
})

test('passwords that open a link share the limit of sign-ins, and a right one is not counted', async () => {
  const { auth, open } = await createAuth({ accountPoints: 3 })
  const user = await auth.createUser()
  const link = async (password: string) => {
    const token = await insertLink(auth, { kind: 'verify-email', ...user })
    return (await open().call('verifyEmail', { token, password })).status
  }
  for (let i = 0; i < 4; i++) expect(await link(TEST_PASSWORD)).toBe('200')
  for (let i = 0; i < 3; i++) expect(await link('wrong password')).toBe(REJECTED)
  expect(await link(TEST_PASSWORD)).toBe('429 RATE_LIMITED')
  expect((await open().signIn(user.email)).status).toBe('429 RATE_LIMITED')
})
