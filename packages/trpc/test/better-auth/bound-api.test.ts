import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { createAuthMiddleware } from 'better-auth/api'
import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import { authRequest } from '../../src/server/auth-handle.ts'
import { createAuth } from './create-auth.ts'
import { openApp } from './open-app.ts'

async function openSignedIn() {
  const app = await openApp()
  await app.signUp()
  return { ...app, ...(await app.signIn()) }
}

const reasonOf = async (response: Response) => (await response.json()).error?.data

test("getAuth(ctx).api makes calls as the caller, and its cookies travel with tRPC's response", async () => {
  const app = await openSignedIn()
  const response = await app.call('signedIn')
  expect(await response.json()).toEqual({ result: { data: 'ada@example.com' } })
  expect(response.headers.get('cache-control')).toBe('no-store')
  const former = String(app.jar)
  expect((await app.call('changePassword', {}, 'POST')).status).toBe(200)
  expect(String(app.jar)).not.toBe(former)
  expect((await app.call('me', { cookie: former })).status).toBe(401)
  expect((await app.call()).status).toBe(200)
  expect((await app.call('signOut', {}, 'POST')).status).toBe(200)
  expect(String(app.jar)).toBe('')
})

test.each([
  ['one cookie', 10],
  ['chunks', 9_000],
])('a revoked session is not read from a cookie cache of %s', async (_, size) => {
  const app = await openApp({ session: { cookieCache: { enabled: true } } })
  await app.signUp()
  app.database.prepare('update user set image = ?').run('x'.repeat(size))
  await app.signIn()
  expect(String(app.jar)).toContain(`better-auth.session_data${size > 4_000 ? '.1' : ''}=`)
  expect(await (await app.call('signedIn')).json()).toEqual({ result: { data: 'ada@example.com' } })
  const cookies = String(app.jar)
  app.database.exec('delete from session')
  // Better Auth also ignores a no-break space before the name.
  for (const cookie of [cookies, cookies.replaceAll('better-auth.session_data', '\u00a0$&')])
    expect(await (await app.responds('signedIn', { cookie })).json()).toEqual({ result: { data: null } })
})

test('a sign-out deletes the chunks of the cookie cache', async () => {
  const app = await openApp({ session: { cookieCache: { enabled: true } } })
  await app.signUp()
  app.database.prepare('update user set image = ?').run('x'.repeat(9_000))
  await app.signIn()
  expect((await app.call('signOut', {}, 'POST')).status).toBe(200)
  expect(String(app.jar)).toBe('')
})

test('a bearer client gets the new token', async () => {
  const app = await openSignedIn()
  const authorization = `Bearer ${app.headers.get('set-auth-token')}`
  const { headers } = await app.responds('changePassword', { authorization }, 'POST')
  expect(headers.getSetCookie()).toEqual([])
  const renewed = { authorization: `Bearer ${headers.get('set-auth-token')}` }
  expect((await app.responds('me', renewed)).status).toBe(200)
})

test('a new session whose cookie would be lost is an error', async () => {
  const app = await openSignedIn()
  const { auth } = app.guard.headers(
    new Headers({ cookie: String(app.jar), 'sec-fetch-site': 'same-origin' }),
  )
  const { api } = app.guard.getAuth({ auth })
  const change = api.changePassword({
    body: {
      currentPassword: 'a long enough password',
      newPassword: 'another password',
      revokeOtherSessions: true,
    },
  })
  await expect(change).rejects.toThrow(/changePassword\(\) has created a session/)
  const streamed = await app.call('signOut?batch=1', { 'trpc-accept': 'application/jsonl' }, 'POST')
  expect(streamed.status).toBe(200)
})

test("Better Auth's errors keep their status", async () => {
  const app = await openSignedIn()
  expect(await reasonOf(await app.call('unban', {}, 'POST'))).toMatchObject({ code: 'FORBIDDEN' })
  expect(await reasonOf(await app.call('unban', { cookie: '' }, 'POST'))).toMatchObject({
    code: 'UNAUTHORIZED',
  })
})

test("a hook's own response, and one that replaces an error, are returned", async () => {
  const replaced = { ok: true }
  const { auth } = await createAuth({
    hooks: {
      before: createAuthMiddleware(async ({ path }) => (path === '/get-session' ? replaced : undefined)),
      after: createAuthMiddleware(async ({ path }) => (path === '/sign-in/email' ? replaced : undefined)),
    },
  })
  const guard = betterAuthGuard(auth)
  const { api } = guard.getAuth(guard.headers(new Headers()))
  expect(await api.getSession()).toEqual(replaced)
  expect(await api.signInEmail({ body: { email: 'ada@example.com', password: 'a password' } })).toEqual(
    replaced,
  )
})

describe('a call without a session for Better Auth has the reason of Step 2', () => {
  const OUTAGE = 'alter table session rename to gone'

  test.each([
    ['an outage', 'SESSIONS_UNAVAILABLE', OUTAGE],
    ['a revocation', 'SESSION_NOT_FOUND', 'delete from session'],
  ])('%s', async (_, reason, sql) => {
    const app = await openSignedIn()
    expect((await app.call()).status).toBe(200)
    app.database.exec(sql)
    const { auth } = await reasonOf(await app.call('changePassword', {}, 'POST'))
    expect(auth).toMatchObject({ reason })
  })

  test('an outage, from getSession', async () => {
    const app = await openSignedIn()
    app.database.exec(OUTAGE)
    const { auth } = await reasonOf(await app.call('signedIn'))
    expect(auth).toMatchObject({ reason: 'SESSIONS_UNAVAILABLE' })
  })

  test('an outage that is over', async () => {
    const app = await openSignedIn()
    const { adapter } = await app.auth.$context
    vi.spyOn(adapter, 'findOne').mockRejectedValueOnce(new Error('no connection'))
    const { auth } = await reasonOf(await app.call('changePassword', {}, 'POST'))
    expect(auth).toMatchObject({ reason: 'SESSIONS_UNAVAILABLE' })
    expect((await app.call('changePassword', {}, 'POST')).status).toBe(200)
  })

  test('but not another 401', async () => {
    const app = await openSignedIn()
    const headers = new Headers({ cookie: String(app.jar), 'sec-fetch-site': 'same-origin' })
    const { api } = app.guard.getAuth(app.guard.headers(headers))
    const signIn = api.signInEmail({ body: { email: 'ada@example.com', password: 'a wrong password' } })
    await expect(signIn).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      cause: { body: { code: 'INVALID_EMAIL_OR_PASSWORD' } },
    })
  })
})

describe('credentials that guards reject', () => {
  test('cookies of a foreign origin', async () => {
    const app = await openSignedIn()
    const response = await app.call('signedIn', {
      'sec-fetch-site': 'cross-site',
      origin: 'https://evil.test',
    })
    expect(response.status).not.toBe(200)
  })

  test('cookies beside an invalid bearer token', async () => {
    const app = await openSignedIn()
    const response = await app.call('signedIn', { authorization: 'Bearer forged.token' })
    expect(await response.json()).toEqual({ result: { data: null } })
  })

  test('an unsigned bearer token, with a cause that names the header', async () => {
    const app = await openSignedIn()
    const { auth } = app.guard.headers(new Headers({ authorization: `Bearer ${app.response.token}` }))
    const identified = auth[authRequest].authenticate(app.store, 'query')
    await expect(identified).rejects.toMatchObject({
      reason: 'TOKEN_INVALID',
      cause: { message: expect.stringContaining('set-auth-token') },
    })
    const response = await app.responds('signedIn', { authorization: `Bearer ${app.response.token}` })
    expect(await response.json()).toEqual({ result: { data: null } })
  })
})

test('the methods have the types of auth.api, without headers', async () => {
  const app = await openApp()
  const { auth } = app.guard.headers(new Headers())
  const { api } = app.guard.getAuth({ auth })
  expectTypeOf<Awaited<ReturnType<typeof api.getSession>>>().toEqualTypeOf<
    Awaited<ReturnType<typeof app.auth.api.getSession>>
  >()
  expectTypeOf(api.signOut).toBeCallableWith()
  // @ts-expect-error The body is missing.
  await expect(api.signInEmail()).rejects.toThrow()
})
