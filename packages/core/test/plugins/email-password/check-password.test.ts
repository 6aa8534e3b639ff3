import '../../support/remember-hashes.ts'
import type { AuthEvent } from '@sallyport/core'
import { rejections } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import {
  breachedPasswords,
  type ChosenPassword,
  createPasswordAccount,
  type EmailPasswordOptions,
} from '@sallyport/core/plugins/email-password'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { codeOf } from '../../support/code-of.ts'
import { insertLink } from '../../support/insert-link.ts'
import { patientFetch, startRangeServer } from '../../support/range-server.ts'
import { post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'

const reject = rejections({
  PASSWORD_REUSED: { status: 400, message: 'Choose a password you never used here' },
})
const NEW_PASSWORD = 'another rare password'

async function start(options: EmailPasswordOptions) {
  const events: AuthEvent[] = []
  const errors: unknown[] = []
  const auth = await createTestAuth({
    emailPassword: options,
    onEvent: (event) => void events.push(event),
    onFailure: ({ cause }) => void errors.push(cause),
  })
  onTestFinished(() => auth.close())
  const user = await auth.createUser({ email: 'lovelace@example.com' })
  await auth.db.updateTable('user').set({ name: 'Augusta King' }).execute()
  const { cookie } = await auth.signIn(user)
  const token = await insertLink(auth, { kind: 'reset-password', ...user })
  events.length = 0
  /** Every way to choose a password. */
  const ways = {
    signUpEmail: (password: string) =>
      auth.handler(
        post(ENDPOINTS.signUpEmail.path, { name: 'Augusta King', email: 'lovelace@math.example', password }),
      ),
    changePassword: (newPassword: string) =>
      auth.handler(
        post(ENDPOINTS.changePassword.path, { currentPassword: TEST_PASSWORD, newPassword }, { cookie }),
      ),
    resetPassword: (newPassword: string) =>
      auth.handler(post(ENDPOINTS.resetPassword.path, { token, newPassword })),
  }
  return { auth, events, errors, user, ways }
}
const WAYS = ['signUpEmail', 'changePassword', 'resetPassword'] as const

describe.each(WAYS)('%s', (way) => {
  test.each([
    ['the name of the app', 'Sallyport2026!'],
    ['the name of the user', 'augusta-king-1815'],
    ['the email', 'Lovelace.1815'],
    ['a repetition', '........'],
    ['a sequence', '0987654321'],
  ])('rejects %s', async (_name, password) => {
    const { ways } = await start({ appName: 'Sallyport' })
    expect(await statusOf(ways[way](password))).toBe('400 PASSWORD_TOO_COMMON')
    expect(await statusOf(ways[way](NEW_PASSWORD))).toBe('200')
  })

  test('responds with the code and the message of the app', async () => {
    const chosen: ChosenPassword[] = []
    const { ways, user } = await start({
      async checkPassword(given) {
        chosen.push(given)
        if (given.password !== NEW_PASSWORD) throw reject('PASSWORD_REUSED')
      },
    })
    const response = await ways[way]('one that was used before')
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      code: 'PASSWORD_REUSED',
      message: 'Choose a password you never used here',
    })
    expect(chosen).toMatchObject([
      {
        password: 'one that was used before',
        user: { id: way === 'signUpEmail' ? null : user.userId, name: 'Augusta King' },
      },
    ])
    expect(chosen[0]?.user.email).toMatch(/^lovelace@/)
    expect(await statusOf(ways[way](NEW_PASSWORD))).toBe('200')
  })

  test('sets no password if the check fails', async () => {
    const failure = new Error('the database of the app is away')
    const { ways, errors, auth, user } = await start({ checkPassword: () => Promise.reject(failure) })
    expect(await statusOf(ways[way](NEW_PASSWORD))).toBe('500 INTERNAL_ERROR')
    expect(errors).toEqual([failure])
    const users = await auth.db.selectFrom('user').select('id').execute()
    expect(users).toHaveLength(1)
    const signIn = { email: user.email, password: TEST_PASSWORD }
    expect(await statusOf(auth.handler(post(ENDPOINTS.signInEmail.path, signIn)))).toBe('200')
  })

  test('checks the built-in rules first', async () => {
    const { url, requests } = await startRangeServer({})
    const { ways } = await start({ checkPassword: breachedPasswords({ url, fetch: patientFetch }) })
    await ways[way]('0987654321')
    expect(requests).toEqual([])
  })

  test('rejects a breached password', async () => {
    const { url } = await startRangeServer({ [NEW_PASSWORD]: 4 })
    const { ways } = await start({ checkPassword: breachedPasswords({ url, fetch: patientFetch }) })
    expect(await statusOf(ways[way](NEW_PASSWORD))).toBe('400 PASSWORD_BREACHED')
    expect(await statusOf(ways[way]('one that nobody has seen'))).toBe('200')
  })

  test('accepts any password if the service is unavailable, and reports it to onEvent', async () => {
    const { url } = await startRangeServer({}, (response) => void response.writeHead(500).end())
    const { ways, events, user, auth } = await start({
      checkPassword: breachedPasswords({ url, fetch: patientFetch }),
    })
    expect(await statusOf(ways[way](NEW_PASSWORD))).toBe('200')
    expect(events[0]).toMatchObject({
      type: 'email-password:check-skipped',
      at: auth.clock.now(),
      userId: way === 'signUpEmail' ? null : user.userId,
      actorId: null,
      detail: { cause: 'The service responded with 500' },
    })
  })
})

test('checks nothing at sign-in or re-authentication', async () => {
  const { url, requests } = await startRangeServer({ [TEST_PASSWORD]: 9 })
  const { auth, user } = await start({
    appName: TEST_PASSWORD,
    checkPassword: breachedPasswords({ url, fetch: patientFetch }),
  })
  const signIn = { email: user.email, password: TEST_PASSWORD }
  expect(await statusOf(auth.handler(post(ENDPOINTS.signInEmail.path, signIn)))).toBe('200')
  const { cookie } = await auth.signIn(user)
  const again = post(ENDPOINTS.reauthenticate.path, { password: TEST_PASSWORD }, { cookie })
  expect(await statusOf(auth.handler(again))).toBe('200')
  expect(requests).toEqual([])
})

test('calls no service unless the app configures one', async () => {
  const fetch = vi.spyOn(globalThis, 'fetch')
  onTestFinished(() => fetch.mockRestore())
  const { ways } = await start({})
  expect(await statusOf(ways.signUpEmail(NEW_PASSWORD))).toBe('200')
  expect(fetch).not.toHaveBeenCalled()
})

describe('createPasswordAccount', () => {
  const account = (password: string) => ({
    name: 'Augusta King',
    email: 'root@math.example',
    password,
    now: new Date(),
  })

  test('follows the same rules', async () => {
    const { auth } = await start({})
    const { url } = await startRangeServer({ [NEW_PASSWORD]: 4 })
    const rules = { appName: 'Sallyport', checkPassword: breachedPasswords({ url, fetch: patientFetch }) }
    const create = (password: string) =>
      codeOf(createPasswordAccount(auth.database, { ...account(password), ...rules }))
    expect(await create('sallyport-1')).toBe('PASSWORD_TOO_COMMON')
    expect(await create('augusta king')).toBe('PASSWORD_TOO_COMMON')
    expect(await create('12341234')).toBe('PASSWORD_TOO_COMMON')
    expect(await create(NEW_PASSWORD)).toBe('PASSWORD_BREACHED')
    expect(await create('one that nobody has seen')).toBe('accepted')
  })
})
