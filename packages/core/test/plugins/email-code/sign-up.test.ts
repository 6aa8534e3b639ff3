import type { AuthPlugin } from '@sallyport/core/auth'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { describe, expect, test } from 'vitest'
import { openBrowser } from '../../support/open-browser.ts'
import { readAudit } from '../../support/read-audit.ts'
import { totpCode } from '../../support/totp-code.ts'
import { createAuthWithCodes } from './auth-with-codes.ts'

const { auth, codeSentTo, open } = await createAuthWithCodes({ signUp: true }, [totp({ issuer: 'Test' })])

const newEmail = () => `${crypto.randomUUID()}@example.com`
const userOf = (email: string) =>
  auth.db.selectFrom('user').selectAll().where('email', '=', email).executeTakeFirst()
const signIn = async (email: string, browser = open()) => {
  await browser.call('requestEmailCode', { email })
  const { code } = await codeSentTo(email)
  return { browser, ...(await browser.call('signInEmailCode', { code })) }
}

describe('with signUp', () => {
  test('an unknown address gets a code, and the account exists only once the code was sent back', async () => {
    const email = newEmail()
    const browser = open()
    await browser.call('requestEmailCode', { email })
    expect(await userOf(email)).toBeUndefined()
    const { user, code } = await codeSentTo(email)
    expect(user).toBeNull()
    const { status, body } = await browser.call('signInEmailCode', { code })
    expect(status).toBe('200')
    expect(await userOf(email)).toMatchObject({ id: body.userId, role: 'user', emailVerified: 1, banned: 0 })
    const types = (await readAudit(auth, body.userId)).map(({ type }) => type)
    expect(types).toEqual(['user.created', 'user.verified', 'session.created'])
  })

  test.each([
    ['ada.lovelace+test', 'ada lovelace test'],
    ['a'.repeat(60), 'a'.repeat(60)],
    ['+_+', 'User'],
  ])('the name comes from the address: %s', async (local, name) => {
    const email = `${local}@${crypto.randomUUID()}.example.com`
    expect((await signIn(email)).status).toBe('200')
    expect(await userOf(email)).toMatchObject({ name })
  })

  test('two codes for one new address create one account', async () => {
    const email = newEmail()
    const [first, second] = [open(), open()]
    await first.call('requestEmailCode', { email })
    const { code } = await codeSentTo(email)
    await second.call('requestEmailCode', { email })
    const { code: other } = await codeSentTo(email)
    const replies = await Promise.all([
      first.call('signInEmailCode', { code }),
      second.call('signInEmailCode', { code: other }),
    ])
    expect(replies.map(({ status }) => status)).toEqual(['200', '200'])
    expect(replies[0]?.body.userId).toBe(replies[1]?.body.userId)
  })

  test('an account that someone registered with a password meanwhile loses that password', async () => {
    const email = newEmail()
    const browser = open()
    await browser.call('requestEmailCode', { email })
    const { code } = await codeSentTo(email)
    const { userId } = await auth.createUser({ email })
    expect((await browser.call('signInEmailCode', { code })).body.userId).toBe(userId)
    expect((await open().signIn(email)).status).toBe('401 INVALID_CREDENTIALS')
  })
})

describe('with a second factor', () => {
  const setUpTotp = async ({ emailVerified }: { emailVerified: boolean }) => {
    const { email, userId } = await auth.createUser()
    await auth.db.updateTable('user').set({ emailVerified }).where('id', '=', userId).execute()
    const browser = open()
    await browser.signIn(email)
    const { secret } = (await browser.call('enableTotp')).body
    const codeOf = () => totpCode(secret, auth)
    expect((await browser.call('confirmTotp', { code: codeOf() })).status).toBe('200')
    auth.clock.advance(30)
    return { email, codeOf }
  }

  test('a code from an email is not enough', async () => {
    const { email, codeOf } = await setUpTotp({ emailVerified: true })
    const { browser, status, body } = await signIn(email)
    expect(status).toBe('403 FACTOR_REQUIRED')
    const challenge = body.challenge.token
    expect((await browser.call('signInTotp', { challenge, code: codeOf() })).status).toBe('200')
    expect((await browser.call('getSession')).body.session.amr).toEqual(['email', 'otp'])
  })

  test('of an unverified account, the mailbox alone removes neither the factor nor the password', async () => {
    const { email, codeOf } = await setUpTotp({ emailVerified: false })
    const { browser, status, body } = await signIn(email)
    expect(status).toBe('403 FACTOR_REQUIRED')
    expect((await open().signIn(email)).status).toBe('403 FACTOR_REQUIRED')
    const challenge = body.challenge.token
    expect((await browser.call('signInTotp', { challenge, code: codeOf() })).status).toBe('200')
    expect((await browser.call('getSession')).body.user.emailVerified).toBe(false)
  })

  test('that was never confirmed is removed with the password', async () => {
    const { email, userId } = await auth.createUser()
    const attacker = open()
    await attacker.signIn(email)
    await attacker.call('enableTotp')
    expect((await signIn(email)).status).toBe('200')
    const db = auth.db.$extendTables<{ totp: { userId: string } }>()
    expect(await db.selectFrom('totp').select('userId').where('userId', '=', userId).execute()).toEqual([])
  })
})

test('a sign-up by password begins no session once the owner of the address has claimed the account', async () => {
  const racing = await createTestAuth({
    onEvent(event) {
      if (event.type === 'user.created')
        void racing.db.deleteFrom('account').where('userId', '=', event.userId).execute()
    },
  })
  const account = { name: 'Eve', email: newEmail(), password: TEST_PASSWORD }
  expect((await openBrowser(racing).call('signUpEmail', account)).status).toBe('409 EMAIL_TAKEN')
  expect(await racing.db.selectFrom('session').select('id').execute()).toEqual([])
  await racing.close()
})

test('a code begins no session if the account has another address by then', async () => {
  const moving: AuthPlugin = {
    id: 'moving',
    async onChange(event, trx) {
      if (event.type !== 'user.verified') return
      await trx.updateTable('user').set({ email: newEmail() }).where('id', '=', event.userId).execute()
    },
  }
  const other = await createAuthWithCodes({}, [moving])
  const { email, userId } = await other.auth.createUser()
  const browser = other.open()
  await browser.call('requestEmailCode', { email })
  const { code } = await other.codeSentTo(email)
  expect((await browser.call('signInEmailCode', { code })).status).toBe('400 EMAIL_CODE_INVALID')
  const sessions = other.auth.db.selectFrom('session').select('id').where('userId', '=', userId)
  expect(await sessions.execute()).toEqual([])
})
