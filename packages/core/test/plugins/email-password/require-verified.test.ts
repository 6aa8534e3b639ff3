import { ConfigurationError } from '@sallyport/core'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { type Email, emailPassword } from '@sallyport/core/plugins/email-password'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { openBrowser } from '../../support/open-browser.ts'
import { readAudit } from '../../support/read-audit.ts'
import { post } from '../../support/requests.ts'
import { stored } from '../../support/stored.ts'

const emails: Email[] = []
const sendEmail = async (email: Email) => void emails.push(email)
const many = { points: 1_000_000, duration: 60 }
const limits = { address: many, email: { points: 3, duration: 3_600 } }
const auth = await createTestAuth({ emailPassword: { requireVerified: true, sendEmail, limits } })
afterAll(() => auth.close())

const newUser = () => ({ name: 'Ada', email: `${crypto.randomUUID()}@example.com`, password: TEST_PASSWORD })
/** Waits until the emails of earlier calls were sent. */
const settle = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
const open = () => openBrowser(auth)
const userOf = (email: string) =>
  auth.db.selectFrom('user').selectAll().where('email', '=', email).executeTakeFirstOrThrow()

/** Waits for an email to an address. */
const sent = (kind: Email['kind'], to: string) =>
  eventually(() => {
    const found = emails.find((email) => email.kind === kind && email.to === to)
    if (found === undefined) throw new Error(`No ${kind} came to ${to}`)
    return found
  })
const tokenIn = async (kind: Email['kind'], to: string) => {
  const email = await sent(kind, to)
  return 'token' in email ? email.token : null
}

describe('with requireVerified, sign-up', () => {
  test('begins no session, and the user signs in once they have opened the link', async () => {
    const ada = newUser()
    const browser = open()
    expect((await browser.call('signUpEmail', ada)).status).toBe('403 EMAIL_NOT_VERIFIED')
    expect(browser.cookie).toBe('')
    const link = { token: await tokenIn('verify-email', ada.email), password: ada.password }
    expect((await browser.call('verifyEmail', link)).status).toBe('200')
    expect((await browser.signIn(ada.email)).status).toBe('200')
  })

  test('of a taken email gets the same response, changes nothing, and sends the owner a notice', async () => {
    const { email, userId } = await auth.createUser()
    const before = await stored(auth)
    const ada = newUser()
    const send = (to: string) => auth.handler(post(ENDPOINTS.signUpEmail.path, { ...ada, email: to }))
    const taken = await send(email)
    expect(await stored(auth)).toEqual(before)
    expect(await sent('sign-up-taken', email)).toMatchObject({ user: { id: userId } })
    const free = await send(ada.email)
    await sent('verify-email', ada.email)
    expect(await taken.text()).toBe(await free.text())
    expect([taken.status, [...taken.headers]]).toEqual([free.status, [...free.headers]])
    expect(await readAudit(auth, userId)).toContainEqual(
      expect.objectContaining({ type: 'email-password:sign-up-taken' }),
    )
  })

  test('followed by a sign-in reveals whether the email was taken, and sends the address an email', async () => {
    const { email: taken } = await auth.createUser()
    const { email: free } = newUser()
    const password = 'the password of a stranger'
    for (const email of [taken, free]) await open().call('signUpEmail', { ...newUser(), email, password })
    expect((await open().signIn(taken, password)).status).toBe('401 INVALID_CREDENTIALS')
    expect((await open().signIn(free, password)).status).toBe('403 EMAIL_NOT_VERIFIED')
    await sent('sign-up-taken', taken)
    await sent('verify-email', free)
  })

  test('of a taken email with a rejected password gets the response of a new one', async () => {
    const { email } = await auth.createUser()
    for (const to of [email, newUser().email]) {
      const reply = await open().call('signUpEmail', { ...newUser(), email: to, password: 'password' })
      expect(reply.status).toBe('400 PASSWORD_TOO_COMMON')
    }
  })

  test('of an address that another user can restore gets the same response, and creates nothing', async () => {
    const { email, userId } = await auth.createUser()
    await auth.db.updateTable('user').set({ emailVerified: true }).where('id', '=', userId).execute()
    const owner = open()
    await owner.signIn(email)
    const newEmail = newUser().email
    await owner.call('changeEmail', { newEmail })
    await owner.call('verifyEmail', { token: await tokenIn('change-email', newEmail) })
    await sent('email-changed', email)
    const before = await stored(auth)
    expect((await open().call('signUpEmail', { ...newUser(), email })).status).toBe('403 EMAIL_NOT_VERIFIED')
    expect(await stored(auth)).toEqual(before)
  })

  test('sends the owner of a taken email a limited number of notices', async () => {
    const { email } = await auth.createUser()
    for (let attempt = 0; attempt < 5; attempt++)
      expect((await open().call('signUpEmail', { ...newUser(), email })).status).toBe(
        '403 EMAIL_NOT_VERIFIED',
      )
    const notices = () => expect(emails.filter(({ to }) => to === email)).toHaveLength(3)
    await eventually(notices)
    await settle()
    notices()
  })
})

describe('with requireVerified, sign-in', () => {
  test('with the right password sends the link again, and begins no session', async () => {
    const { email } = await auth.createUser()
    const browser = open()
    expect((await browser.signIn(email)).status).toBe('403 EMAIL_NOT_VERIFIED')
    expect(browser.cookie).toBe('')
    const link = { token: await tokenIn('verify-email', email), password: TEST_PASSWORD }
    await browser.call('verifyEmail', link)
    expect((await browser.signIn(email)).status).toBe('200')
    await sent('new-sign-in', email)
  })

  test('with a wrong password reveals nothing, and sends nothing', async () => {
    const { email } = await auth.createUser()
    expect((await open().signIn(email, 'wrong password')).status).toBe('401 INVALID_CREDENTIALS')
    await settle()
    expect(emails.filter(({ to }) => to === email)).toEqual([])
  })

  test('of a banned user is rejected for the ban', async () => {
    const { email, userId } = await auth.createUser()
    await auth.ban(await auth.signIn({ userId }))
    expect((await open().signIn(email)).status).toBe('403 ACCOUNT_BANNED')
  })

  test('works after a reset of the password, which proves the address', async () => {
    const { email } = await auth.createUser()
    await open().call('requestPasswordReset', { email })
    const token = await tokenIn('reset-password', email)
    await open().call('resetPassword', { token, newPassword: 'another horse battery staple' })
    expect((await userOf(email)).emailVerified).toBe(1)
    expect((await open().signIn(email, 'another horse battery staple')).status).toBe('200')
    await sent('new-sign-in', email)
  })
})

test('requireVerified without sendEmail is a configuration error', () => {
  expect(() => emailPassword({ requireVerified: true })).toThrow(ConfigurationError)
})
