import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { insertLink } from '../../support/insert-link.ts'
import { insertTotp } from '../../support/insert-totp.ts'
import { openBrowser } from '../../support/open-browser.ts'

const failures: unknown[] = []
const auth = await createTestAuth({
  bearer: true,
  onFailure: (failure) => void failures.push(failure),
  plugins: [totp({ issuer: 'Test', limits: { account: { points: 6, duration: 24 * 3_600 } } })],
})
afterAll(() => auth.close())

let addresses = 0
/** Each browser has another network. */
const open = (headers: Record<string, string> = {}) =>
  openBrowser(auth, { address: `198.51.${Math.floor(addresses / 250)}.${++addresses % 250}`, headers })

let user: { userId: string; email: string }
let code: string
beforeEach(async () => {
  user = await auth.createUser()
  code = (await insertTotp(auth, [user.userId])).code
})

const challengeOf = async (email: string, browser = open()): Promise<string> => {
  const { status, body } = await browser.signIn(email)
  expect(status).toBe('403 FACTOR_REQUIRED')
  return body.challenge.token
}
const send = async (challenge: string, sent: string) =>
  (await open().call('signInTotp', { challenge, code: sent })).status

describe('a user with a second factor', () => {
  test('gets no token from the password alone, with the session header either', async () => {
    const program = open({ 'x-sallyport-session': 'none' })
    const { status, body } = await program.signIn(user.email)
    expect(status).toBe('403 FACTOR_REQUIRED')
    expect(Object.keys(body).sort()).toEqual(['challenge', 'code', 'message'])
    expect(program.cookie).toBe('')
  })

  test('is not signed in by the token of the challenge', async () => {
    const token = await challengeOf(user.email)
    const { jwt, session } = auth.config.cookies
    for (const cookie of [`${jwt}=${token}`, `${session}=${token}`, `${session}=${token}.${token}`]) {
      const browser = open()
      browser.cookie = cookie
      expect((await browser.call('getSession')).status).toMatch(/^401 /)
      expect((await browser.call('token')).status).toMatch(/^401 /)
    }
  })

  test('still needs it after a password reset, which begins no session', async () => {
    const token = await insertLink(auth, { ...user, kind: 'reset-password' })
    const browser = open()
    const newPassword = 'another horse battery staple'
    expect((await browser.call('resetPassword', { token, newPassword })).status).toBe('200')
    expect(browser.cookie).toBe('')
    expect((await browser.signIn(user.email, newPassword)).status).toBe('403 FACTOR_REQUIRED')
  })

  test('is not signed in by a challenge from before a password reset', async () => {
    const challenge = await challengeOf(user.email)
    const token = await insertLink(auth, { ...user, kind: 'reset-password' })
    await open().call('resetPassword', { token, newPassword: 'another horse battery staple' })
    expect(await send(challenge, code)).toBe('400 CHALLENGE_INVALID')
  })

  test('is not signed in by a challenge from before a change of the email', async () => {
    const challenge = await challengeOf(user.email)
    const email = `${crypto.randomUUID()}@example.com`
    const token = await insertLink(auth, { userId: user.userId, email, kind: 'change-email' })
    expect((await open().call('verifyEmail', { token, password: TEST_PASSWORD })).status).toBe('200')
    expect(await send(challenge, code)).toBe('400 CHALLENGE_INVALID')
  })

  test('is not signed in by a challenge from before an admin removed the factor', async () => {
    const challenge = await challengeOf(user.email)
    const { email } = await auth.createUser({ role: 'admin' })
    const admin = open()
    await admin.signIn(email)
    const reset = { userId: user.userId, reason: 'lost' }
    expect((await admin.call('resetUserFactors', reset)).status).toBe('200')
    expect(await send(challenge, code)).toBe('400 CHALLENGE_INVALID')
  })
})

test("another user's code is rejected, and stays valid for its user", async () => {
  const other = await auth.createUser()
  const theirs = await insertTotp(auth, [other.userId])
  expect(await send(await challengeOf(user.email), theirs.code)).toBe('400 CODE_INVALID')
  expect(await send(await challengeOf(other.email), theirs.code)).toBe('200')
})

test('guesses from many networks and in many challenges share the limit of the account', async () => {
  for (let guesses = 0; guesses < 6; guesses++)
    expect(await send(await challengeOf(user.email), '000000')).toBe('400 CODE_INVALID')
  expect(await send(await challengeOf(user.email), code)).toBe('429 RATE_LIMITED')
})

test("a secret that was copied to another user's row is useless", async () => {
  const victim = await auth.createUser()
  await insertTotp(auth, [victim.userId])
  const rows = auth.db.$extendTables<{ totp: { userId: string; secret: string } }>()
  const own = await rows.selectFrom('totp').select('secret').where('userId', '=', user.userId).execute()
  await rows
    .updateTable('totp')
    .set(own[0] ?? {})
    .where('userId', '=', victim.userId)
    .execute()
  expect(await send(await challengeOf(victim.email), code)).toMatch(/^500 /)
  expect(failures).toHaveLength(1)
})
