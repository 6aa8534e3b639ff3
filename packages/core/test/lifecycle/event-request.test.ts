import type { AuthEvent } from '@sallyport/core'
import type { AuthPlugin } from '@sallyport/core/auth'
import { ENDPOINTS, NO_SESSION, SESSION_HEADER } from '@sallyport/core/internal/protocol'
import { createTestAuth, TEST_PASSWORD, type TestSession } from '@sallyport/core/testing'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createOutbox } from '../support/outbox.ts'
import { cookiesAfter, get, post } from '../support/requests.ts'
import type { MadeUser } from '../support/user-maker.ts'

const events: AuthEvent[] = []
const hooked: AuthEvent[] = []
const watch: AuthPlugin = { id: 'watch', onChange: async (event) => void hooked.push(event) }
const outbox = createOutbox()
const PLENTY = { points: 1_000_000, duration: 60 }
const auth = await createTestAuth({
  bearer: true,
  emailPassword: { sendEmail: outbox.sendEmail, limits: { account: PLENTY, address: PLENTY, email: PLENTY } },
  plugins: [watch],
  onEvent: (event) => void events.push(event),
})
afterAll(() => auth.close())

const ADDRESS = '192.0.2.7'
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

let user: MadeUser
let ada: TestSession
let root: TestSession
beforeEach(async () => {
  user = await auth.createUser()
  ada = await auth.signIn(user)
  root = await auth.signIn({ role: 'admin' })
  await auth.db.deleteFrom('sallyport.audit').execute()
  events.length = 0
})

interface Call {
  readonly input?: Record<string, unknown>
  /** Absent for a call without a session. */
  readonly by?: TestSession
  readonly headers?: Record<string, string>
}

async function call(name: keyof typeof ENDPOINTS, { input = {}, by, headers }: Call = {}) {
  const { method, path } = ENDPOINTS[name]
  const sent = { 'user-agent': USER_AGENT, ...(by && { cookie: by.cookie }), ...headers }
  const texts = Object.entries(input).map(([key, value]): [string, string] => [key, String(value)])
  const request =
    method === 'GET' ? get(`${path}?${new URLSearchParams(texts)}`, sent) : post(path, input, sent)
  const response = await auth.handler(request, { remoteAddress: ADDRESS })
  // Work deferred past the response is finished when the next change is.
  await new Promise((resolve) => setImmediate(resolve))
  return response
}

const records = async (type: string) =>
  (await auth.db.selectFrom('sallyport.audit').selectAll().where('type', '=', type).execute()).map(
    ({ detail, ...row }) => ({ ...row, detail: JSON.parse(detail) }),
  )

test('events that are only emitted have the address and user agent', async () => {
  await call('token', { by: ada })
  expect(events).toMatchObject([{ type: 'session.refreshed', address: ADDRESS, userAgent: USER_AGENT }])
})

test('hooks receive the address, the user agent, and the acting session', async () => {
  hooked.length = 0
  await call('updateUser', { input: { name: 'Countess' }, by: ada })
  expect(hooked).toMatchObject([{ address: ADDRESS, userAgent: USER_AGENT, actingSessionId: ada.sessionId }])
})

test('an invalid session cookie names no acting session', async () => {
  const cookie = `service.session=${root.sessionId}.${'A'.repeat(43)}`
  await call('signInEmail', { input: { email: user.email, password: 'wrong password' }, headers: { cookie } })
  expect(await records('sign-in.failed')).toMatchObject([{ actingSessionId: null }])
})

test('a user agent is truncated to 512 characters', async () => {
  await call('updateUser', {
    input: { name: 'Countess' },
    by: ada,
    headers: { 'user-agent': 'x'.repeat(2_000) },
  })
  expect(await records('user.updated')).toMatchObject([{ userAgent: 'x'.repeat(512) }])
})

test('a change by the app itself has no address, user agent, or acting session', async () => {
  await auth.ban(ada)
  expect(await records('user.banned')).toMatchObject([
    { address: null, userAgent: null, actingSessionId: null },
  ])
})

test('a recovery request for an unknown account is recorded without a user and without the address', async () => {
  const email = `${crypto.randomUUID()}@example.com`
  await call('requestPasswordReset', { input: { email } })
  await expect.poll(() => records('recovery.requested')).toMatchObject([{ userId: null, address: ADDRESS }])
  expect(JSON.stringify(await records('recovery.requested'))).not.toContain(email)
})

describe('profile changes', () => {
  test('without an effect are not recorded', async () => {
    await call('updateUser', { input: { name: 'Test User', image: null }, by: ada })
    expect(await records('user.updated')).toEqual([])
  })

  test('have strings of at most 512 characters', async () => {
    const image = `https://example.com/${'x'.repeat(2_000)}`
    await call('updateUser', { input: { image }, by: ada })
    const [{ detail } = { detail: null }] = await records('user.updated')
    expect(detail).toEqual({ from: { image: null }, to: { image: image.slice(0, 512) } })
  })

  test('are limited to 60 an hour per user, because each adds a row', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 61; i++)
      statuses.push((await call('updateUser', { input: { name: `Ada ${i}` }, by: ada })).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(60)
    expect(statuses.at(-1)).toBe(429)
  })
})

describe('session.created says whether the device is known', () => {
  const signIn = (headers: Record<string, string> = {}) =>
    call('signInEmail', { input: { email: user.email, password: TEST_PASSWORD }, headers })
  const knownDevices = async () => (await records('session.created')).map(({ detail }) => detail.knownDevice)

  test('false for a new browser, true once it has signed in', async () => {
    const cookie = cookiesAfter('', await signIn())
    await signIn({ cookie })
    expect((await knownDevices()).sort()).toEqual([false, true])
  })

  test('false at sign-up', async () => {
    const email = `${crypto.randomUUID()}@example.com`
    await call('signUpEmail', { input: { name: 'Ada', email, password: 'a rare password' } })
    expect(await knownDevices()).toEqual([false])
  })

  test('null for a client that sends the session header', async () => {
    await signIn({ [SESSION_HEADER]: NO_SESSION })
    expect(await knownDevices()).toEqual([null])
  })

  test('null for a session that the app itself created', async () => {
    await auth.api.createSession({ userId: user.userId, request: post('/') })
    expect(await knownDevices()).toEqual([null])
  })
})

describe('admin reads', () => {
  const list = (input: Record<string, unknown> = {}) => call('listUsers', { input, by: root })

  test('of users are recorded with the search', async () => {
    await list({ search: 'ada' })
    expect(await records('admin.users-listed')).toMatchObject([
      { userId: null, actorId: root.userId, detail: { search: 'ada' } },
    ])
  })

  test('repeated within 5 minutes are recorded once per session', async () => {
    await list()
    await list()
    expect(await records('admin.users-listed')).toHaveLength(1)
    await list({ search: 'ada' })
    expect(await records('admin.users-listed')).toHaveLength(2)
    await call('listUsers', { by: await auth.signIn({ userId: root.userId }) })
    expect(await records('admin.users-listed')).toHaveLength(3)
    auth.clock.advance(300)
    await list()
    expect(await records('admin.users-listed')).toHaveLength(4)
    auth.clock.advance(-300)
  })

  test('are not recorded if they are rejected', async () => {
    expect((await call('listUsers', { by: ada })).status).toBe(403)
    expect(await records('admin.users-listed')).toEqual([])
  })
})
