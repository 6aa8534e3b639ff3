import { createHandler, getSession } from '@sallyport/trpc'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { soon } from '../support/soon.ts'
import { openApp } from './open-app.ts'

const HOUR_MS = 60 * 60 * 1_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

const wait = (hours: number) => vi.setSystemTime(Date.now() + hours * HOUR_MS)

describe.each([
  ['without a cookie cache', {}],
  ['with a cookie cache', { cookieCache: { enabled: true, maxAge: 5 * 60 } }],
  ['with a deferred refresh', { deferSessionRefresh: true }],
])('eight days, %s', (_, session) => {
  test('an active user is never signed out, and Better Auth is called once a day', async () => {
    const app = await openApp({ session })
    await app.signUp()
    await app.signIn()
    for (let hour = 0; hour < 8 * 24; hour++) {
      wait(1)
      app.jar.restart()
      expect((await app.call()).status, `hour ${hour}`).toBe(200)
    }
    expect(app.renewals).toHaveBeenCalledTimes(8)
    wait(6.9 * 24)
    expect((await app.call()).status).toBe(200)
  })

  test('a user who is not remembered is signed out after a day', async () => {
    const app = await openApp({ session })
    await app.signUp()
    await app.signIn({ rememberMe: false })
    for (let hour = 0; hour < 23; hour++) {
      wait(1)
      expect((await app.call()).status, `hour ${hour}`).toBe(200)
    }
    wait(1)
    expect((await app.call()).status).toBe(401)
    expect(app.renewals).not.toHaveBeenCalled()
  })
})

test('concurrent calls share a renewal, and each response has the cookie', async () => {
  const app = await openApp()
  await app.signUp()
  await app.signIn()
  wait(25)
  const responses = await Promise.all([app.call(), app.call('sensitive'), app.call('me,sensitive?batch=1')])
  for (const { headers } of responses)
    expect(headers.getSetCookie().join()).toContain('better-auth.session_token=')
  expect(app.renewals).toHaveBeenCalledTimes(1)
  const [, sensitive] = responses
  const { result } = await sensitive.json()
  expect(result.data.expiresAt).toBeGreaterThan(Date.now() + 6.9 * 24 * HOUR_MS)
  expect((await app.call()).headers.getSetCookie()).toEqual([])
})

test('no renewal for streams, subscriptions, renders, or impersonations', async () => {
  const app = await openApp()
  await app.signUp()
  const { headers } = await app.signIn()
  wait(25)
  await app.call('me?batch=1', { 'trpc-accept': 'application/jsonl' })
  await app.call('live', { accept: 'text/event-stream' })
  const headersOfPage = new Headers({ cookie: String(app.jar), 'sec-fetch-site': 'same-origin' })
  await getSession({ ...app.guard.headers(headersOfPage), db: app.guard.attach(app.database) })
  app.database.exec(`update session set impersonatedBy = 'another'`)
  await app.call('me', { authorization: `Bearer ${headers.get('set-auth-token')}` })
  expect(app.renewals).not.toHaveBeenCalled()
})

test('no renewal with disableSessionRefresh', async () => {
  const app = await openApp({ session: { disableSessionRefresh: true } })
  await app.signUp()
  await app.signIn()
  wait(25)
  expect((await app.call()).status).toBe(200)
  expect(app.renewals).not.toHaveBeenCalled()
})

test('a bearer client gets set-auth-token, and a browser never does', async () => {
  const app = await openApp()
  await app.signUp()
  const { headers } = await app.signIn()
  const authorization = `Bearer ${headers.get('set-auth-token')}`
  wait(25)
  const response = await app.responds('me', { authorization })
  expect(response.headers.get('set-auth-token')).toBe(headers.get('set-auth-token'))
  expect(response.headers.get('access-control-expose-headers')).toBe('set-auth-token')
  expect(response.headers.getSetCookie()).toEqual([])
  wait(25)
  const { headers: toBrowser } = await app.call()
  expect(toBrowser.getSetCookie()).not.toEqual([])
  expect(toBrowser.get('set-auth-token')).toBeNull()
})

test.each(['bearer token', 'cookie'])(
  'a session cookie is not remembered by the renewal of a %s',
  async (kind) => {
    const app = await openApp()
    await app.signUp()
    const { headers } = await app.signIn({ rememberMe: false })
    const cookie = String(app.jar)
    const renewed =
      kind === 'cookie'
        ? { cookie: cookie.replace(/better-auth\.dont_remember=[^;]*/, '') }
        : { authorization: `Bearer ${headers.get('set-auth-token')}` }
    app.database.prepare('update session set expiresAt = ?').run(new Date(Date.now() + HOUR_MS).toISOString())
    const responses = await Promise.all([app.responds('me', renewed), app.responds('me', { cookie })])
    const set = responses.map((response) => [...response.headers.keys()].filter((name) => /^set-/.test(name)))
    expect(set).toEqual([[kind === 'cookie' ? 'set-cookie' : 'set-auth-token'], []])
  },
)

test('a failed renewal never fails the call, and the next attempt is a minute later', async () => {
  const app = await openApp()
  await app.signUp()
  await app.signIn()
  wait(25)
  app.renewals.mockRejectedValueOnce(new Error('down'))
  expect((await app.call()).status).toBe(200)
  expect((await app.call()).headers.getSetCookie()).toEqual([])
  expect(app.renewals).toHaveBeenCalledTimes(1)
  wait(1 / 60)
  expect((await app.call()).headers.getSetCookie()).not.toEqual([])
  expect(app.renewals).toHaveBeenCalledTimes(2)
})

test('the cookies of a slow renewal travel with a later call', async () => {
  const app = await openApp()
  await app.signUp()
  await app.signIn()
  wait(25)
  const { promise, resolve } = Promise.withResolvers<void>()
  app.renewals.mockImplementationOnce(async (input) => {
    await promise
    return app.renew(input)
  })
  const slow = await app.call()
  expect(slow.status).toBe(200)
  expect((await app.call()).headers.getSetCookie()).toEqual([])
  resolve()
  await soon(async () => expect((await app.call()).headers.getSetCookie()).not.toEqual([]))
  expect((await app.call()).headers.getSetCookie()).toEqual([])
  expect(app.renewals).toHaveBeenCalledTimes(1)
})

test('a renewal that no call has received is not passed on to a new session with its id', async () => {
  const app = await openApp({ advanced: { database: { generateId: 'serial' } } })
  await app.signUp()
  await app.signUp('bob@example.com')
  app.database.exec('delete from session')
  await app.signIn()
  wait(25)
  const { promise, resolve } = Promise.withResolvers<void>()
  app.renewals.mockImplementationOnce(async (input) => {
    await promise
    return app.renew(input)
  })
  expect((await app.call()).headers.getSetCookie()).toEqual([])
  resolve()
  await app.renewals.mock.results[0]?.value
  app.database.exec('delete from session')
  await app.signIn({ email: 'bob@example.com' })
  expect(app.database.prepare('select id from session').all()).toEqual([{ id: 1 }])
  const response = await app.call('sensitive')
  expect((await response.json()).result.data.email).toBe('bob@example.com')
  expect(response.headers.getSetCookie()).toEqual([])
  wait(25)
  expect((await app.call()).headers.getSetCookie()).not.toEqual([])
})

test("a renewal never passes on another session's cookie, or a deleted one", async () => {
  const app = await openApp()
  await app.signUp()
  await app.signIn()
  wait(25)
  const [own = ''] = /better-auth\.session_token=[^;]+/.exec(String(app.jar)) ?? []
  const headers = new Headers([
    ['set-cookie', `${own}; Path=/`],
    ['set-cookie', 'better-auth.session_token=another.signature; Path=/'],
    ['set-cookie', 'better-auth.session_data=; Max-Age=0; Path=/'],
  ])
  app.renewals.mockResolvedValueOnce({ headers, response: null } as never)
  const response = await app.call()
  expect(response.status).toBe(200)
  expect(response.headers.getSetCookie()).toEqual([])
})

test('a session that ended during its renewal is rejected, and the cookies stay', async () => {
  const app = await openApp()
  await app.signUp()
  await app.signIn()
  wait(25)
  app.renewals.mockImplementationOnce(async () => {
    app.database.exec('delete from session')
    throw new Error('Unauthorized')
  })
  const response = await app.call()
  expect(response.status).toBe(401)
  expect(response.headers.getSetCookie()).toEqual([])
})

test('a session that ended after its renewal is rejected, and no cookies are set', async () => {
  const app = await openApp()
  await app.signUp()
  await app.signIn()
  wait(25)
  app.renewals.mockImplementationOnce(async (input) => {
    const renewed = await app.renew(input)
    app.database.exec('delete from session')
    return renewed
  })
  const response = await app.call()
  expect(response.status).toBe(401)
  expect(response.headers.getSetCookie()).toEqual([])
})

test('createHandler sends each cookie once, also without responseMeta', async () => {
  const app = await openApp({ session: { cookieCache: { enabled: true } } })
  await app.signUp()
  await app.signIn()
  for (const responseMeta of [undefined, app.guard.responseMeta]) {
    wait(25)
    const handle = createHandler({ ...app.handlerOptions, ...(responseMeta && { responseMeta }) })
    const headers = { cookie: String(app.jar), 'sec-fetch-site': 'same-origin' }
    const response = await handle(new Request('http://localhost:3000/trpc/me', { headers }))
    const names = response.headers.getSetCookie().map((line) => line.split('=', 1)[0])
    expect(names).toEqual(['better-auth.session_token', 'better-auth.session_data'])
  }
})
