import { AuthError, type AuthEvent } from '@sallyport/core'
import type { AuthPlugin } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { createOutbox } from '../../support/outbox.ts'
import { cookieChanges, post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import { stored } from '../../support/stored.ts'

const events: AuthEvent[] = []
const limits = { address: { points: 1_000_000, duration: 60 } }
const auth = await createTestAuth({ emailPassword: { limits }, onEvent: (event) => void events.push(event) })
afterAll(() => auth.close())

const signUp = (body: unknown) => auth.handler(post(ENDPOINTS.signUpEmail.path, body))
const signIn = (body: unknown) => auth.handler(post(ENDPOINTS.signInEmail.path, body))
const userOf = (email: string) =>
  auth.db.selectFrom('user').selectAll().where('email', '=', email).executeTakeFirstOrThrow()
const valid = () => ({
  name: 'Ada',
  email: `${crypto.randomUUID()}@example.com`,
  password: 'eight or more',
})

describe('sign-up', () => {
  test('creates a user with the role user, whose password is an argon2id hash', async () => {
    const ada = valid()
    await signUp(ada)
    const user = await userOf(ada.email)
    expect(user).toMatchObject({
      name: 'Ada',
      role: 'user',
      banned: 0,
      banReason: null,
      banExpires: null,
      emailVerified: 0,
    })
    const account = await auth.db
      .selectFrom('account')
      .selectAll()
      .where('userId', '=', user.id)
      .executeTakeFirstOrThrow()
    expect(account).toMatchObject({ providerId: 'credential', accountId: user.id })
    expect(account.password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(JSON.stringify(await stored(auth))).not.toContain(ada.password)
  })

  test('records a user, and then their session', async () => {
    events.length = 0
    const { userId, sessionId } = await (await signUp(valid())).json()
    expect(events).toMatchObject([
      { type: 'user.created', userId, actorId: null, at: auth.clock.now() },
      { type: 'session.created', userId, sessionId },
    ])
    const records = auth.db
      .selectFrom('sallyport.audit')
      .select('type')
      .where('userId', '=', userId)
      .execute()
    expect((await records).map(({ type }) => type).sort()).toEqual(['session.created', 'user.created'])
  })

  test('normalizes the email to lower case, and trims the email and the name', async () => {
    const ada = valid()
    const response = await signUp({ ...ada, name: ' Ada\n', email: `  ${ada.email.toUpperCase()}\t` })
    expect(response.status).toBe(200)
    expect(await userOf(ada.email)).toMatchObject({ email: ada.email, name: 'Ada' })
  })

  test('with a taken email is 409, in any case, and changes nothing', async () => {
    const ada = valid()
    await signUp(ada)
    const before = await stored(auth)
    const response = await signUp({ ...ada, email: ada.email.toUpperCase(), password: 'another password' })
    expect(response.status).toBe(409)
    expect(await response.json()).toEqual({
      code: 'EMAIL_TAKEN',
      message: 'An account with this email exists. Sign in, or use another email.',
    })
    expect(cookieChanges(response)).toEqual({ set: [], cleared: [] })
    expect(await stored(auth)).toEqual(before)
  })

  test('sends the email also if no session begins, because the account exists then', async () => {
    const outbox = createOutbox()
    const fails: AuthPlugin = {
      id: 'test',
      async onChange({ type }) {
        if (type === 'session.created') throw new AuthError('SESSIONS_UNAVAILABLE')
      },
    }
    const failing = await createTestAuth({
      emailPassword: { sendEmail: outbox.sendEmail },
      plugins: [fails],
      onFailure: () => {},
    })
    onTestFinished(failing.close)
    const ada = valid()
    const path = ENDPOINTS.signUpEmail.path
    expect(await statusOf(failing.handler(post(path, ada)))).toBe('503 SESSIONS_UNAVAILABLE')
    expect((await outbox.takeLink('verify-email')).to).toBe(ada.email)
    expect(await statusOf(failing.handler(post(path, ada)))).toBe('409 EMAIL_TAKEN')
  })

  test('twice concurrently creates one user', async () => {
    const ada = valid()
    const statuses = await Promise.all(
      [signUp(ada), signUp(ada)].map(async (answer) => (await answer).status),
    )
    expect(statuses.sort()).toEqual([200, 409])
    const users = auth.db.selectFrom('user').select('id').where('email', '=', ada.email)
    expect(await users.execute()).toHaveLength(1)
  })
})

describe('a password', () => {
  test.each([
    ['of 8 characters', 'xq7!kd2m'],
    ['of 256 characters', `xq7!${'k'.repeat(252)}`],
    ['of 256 symbols, 512 code units', `${'🚪'.repeat(250)}🔑🐙🌵🎻🚀🍋`],
    ['of 8 symbols', '🚪🔑🐙🌵🎻🚀🍋🧲'],
    ['in any language', 'чёрный кот 黒い猫'],
    ['with white space around it', '  kd2m xq7!  '],
    ['with a null character within', 'kd2m\u0000xq7!'],
  ])('%s may be chosen, and works at sign-in', async (_name, password) => {
    const ada = { ...valid(), password }
    expect((await signUp(ada)).status).toBe(200)
    expect((await signIn({ email: ada.email, password })).status).toBe(200)
  })

  test('of 256 characters is compared to its last character', async () => {
    const ada = { ...valid(), password: `xq7!${'k'.repeat(252)}` }
    await signUp(ada)
    const changed = { email: ada.email, password: `${ada.password.slice(0, -1)}l` }
    expect((await signIn(changed)).status).toBe(401)
  })

  test('with a null character is compared beyond it', async () => {
    const ada = { ...valid(), password: 'kd2mxq7!\u0000a' }
    await signUp(ada)
    expect((await signIn({ email: ada.email, password: 'kd2mxq7!\u0000b' })).status).toBe(401)
  })

  const email = 'ada.lovelace@example.com'
  test.each([
    ['among the most common', 'password'],
    ['among them in another case', 'PassWord1'],
    ['among them, of digits', '1234567890'],
    ['that is the email', email],
    ['that is the email in another case', email.toUpperCase()],
    ['that is the name in the email', 'ada.lovelace'],
  ])('%s is rejected: 400 PASSWORD_TOO_COMMON, and no user is created', async (_name, password) => {
    const before = await stored(auth)
    const response = await signUp({ ...valid(), email, password })
    expect({ status: response.status, ...(await response.json()) }).toEqual({
      status: 400,
      code: 'PASSWORD_TOO_COMMON',
      message: 'This password is too easy to guess. Choose another one.',
    })
    expect(await stored(auth)).toEqual(before)
  })
})
