import { betterAuthGuard, sallyportJwt } from '@sallyport/trpc/better-auth'
import { createAuthClient } from '@sallyport/trpc/client'
import { createServerAuth } from '@sallyport/trpc/ssr'
import { betterAuth } from 'better-auth'
import { describe, expect, test, vi } from 'vitest'
import { ORIGIN, PASSWORD } from './create-auth.ts'
import { COOKIE, createJwtScene } from './jwt-scene.ts'

const scene = await createJwtScene()
const { auth, browse, database, send } = scene

const JWT = 'service.jwt'

describe('each response that sets or expires the session cookie', () => {
  test('sign-up and sign-out', async () => {
    const browser = browse()
    await browser.signUp('ada')
    expect(await browser.me()).toBe('ada@example.com')
    await browser.post('/sign-out')
    expect([...browser.cookies.keys()]).not.toContain(JWT)
    expect(await browser.me()).toBe('TOKEN_MISSING')
  })

  test('a second sign-in, and the change to the first session', async () => {
    const browser = browse()
    await browser.signUp('first')
    const first = browser.cookies.get(COOKIE)?.split('.')[0]
    await browser.signUp('second')
    expect(await browser.me()).toBe('second@example.com')
    await browser.post('/multi-session/set-active', { sessionToken: first })
    expect(await browser.me()).toBe('first@example.com')
  })

  test('impersonation and its end', async () => {
    const browser = browse()
    await browser.signUp('guest')
    await browser.signUp('root')
    database.prepare("update user set role = 'admin' where email = 'root@example.com'").run()
    const guest = database.prepare("select id from user where email = 'guest@example.com'").pluck().get()
    await browser.post('/admin/impersonate-user', { userId: guest })
    expect(await browser.me()).toBe('guest@example.com')
    await browser.post('/admin/stop-impersonating')
    expect(await browser.me()).toBe('root@example.com')
  })

  test('a password change that ends the other sessions', async () => {
    const browser = browse()
    await browser.signUp('changer')
    const other = browse()
    await other.signIn('changer')
    const passwords = { currentPassword: PASSWORD, newPassword: `${PASSWORD} 2` }
    await browser.post('/change-password', { ...passwords, revokeOtherSessions: true })
    expect(await browser.me()).toBe('changer@example.com')
    expect(await other.me()).toBe('SESSION_NOT_FOUND')
  })

  test('a session that is not remembered: the JWT expires with the browser session too', async () => {
    await browse().signUp('forgetful')
    const response = await browse().signIn('forgetful', { rememberMe: false })
    const jwt = response.headers.getSetCookie().find((line) => line.startsWith(JWT))
    expect(jwt).toContain('HttpOnly')
    expect(jwt).not.toContain('Max-Age')
    const browser = browse()
    await browser.signIn('forgetful', { rememberMe: false })
    const refreshed = (await browser.token()).headers.getSetCookie().find((line) => line.startsWith(JWT))
    expect(refreshed).toContain('HttpOnly')
    expect(refreshed).not.toContain('Max-Age')
  })
})

describe('GET /api/auth/backend/token', () => {
  test('issues a JWT for the session cookie', async () => {
    const browser = browse()
    await browser.signUp('refresher')
    const before = browser.cookies.get(JWT)
    const response = await browser.token()
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    const body = await response.json()
    expect(body).toEqual({
      expiresIn: 900,
      expiresAt: expect.any(String),
      userId: expect.any(String),
      sessionId: expect.any(String),
    })
    expect(browser.cookies.get(JWT)).not.toBe(before)
    expect(await browser.me()).toBe('refresher@example.com')
  })

  test.each([
    ['', {}],
    [', with a deferred refresh', { deferSessionRefresh: true }],
  ])('extends the session when due%s', async (_name, session) => {
    const { browse, database } = await createJwtScene({ session })
    const browser = browse()
    await browser.signUp('lasting')
    const soon = new Date(Date.now() + 5 * 86_400_000).toISOString()
    database
      .prepare('update session set expiresAt = ? where token = ?')
      .run(soon, browser.cookies.get(COOKIE)?.split('.')[0])
    const response = await browser.token()
    expect(response.headers.getSetCookie().filter((line) => line.startsWith(`${COOKIE}=`))).toHaveLength(1)
    expect(await browser.me()).toBe('lasting@example.com')
  })

  test.each([
    ['a forged signature', (cookie: string) => cookie.replace(/\.[^.;]+(?=;|$)/, `.${'A'.repeat(43)}=`)],
    ['a token without a signature', (cookie: string) => cookie.split('.').slice(0, 2).join('.')],
  ])('signs out with 401 SESSION_NOT_FOUND: %s', async (_name, forge) => {
    const browser = browse()
    await browser.signUp(`forged${Math.random()}`)
    const attacker = browse(forge(`${COOKIE}=${browser.cookies.get(COOKIE)}`))
    const response = await attacker.token()
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ code: 'SESSION_NOT_FOUND' })
    const cleared = response.headers.getSetCookie().filter((line) => line.includes('Max-Age=0'))
    expect(cleared.map((line) => line.split('=')[0])).toEqual(expect.arrayContaining([COOKIE, JWT]))
  })

  test('without a session cookie, touches no cookies: another site may have sent the request', async () => {
    for (const cookie of ['', `${COOKIE}=`, `${JWT}=any`]) {
      const response = await send(`${ORIGIN}/api/auth/backend/token`, {
        headers: { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      })
      expect([response.status, (await response.json()).code]).toEqual([401, 'SESSION_NOT_FOUND'])
      expect(response.headers.getSetCookie()).toEqual([])
    }
  })

  test('rejects a ban, another origin, a prefetch, and two cookies without touching the cookies', async () => {
    const browser = browse()
    await browser.signUp('rejected')
    const statusOf = async (response: Response) => {
      expect(response.headers.getSetCookie()).toEqual([])
      return [response.status, (await response.json()).code]
    }
    expect(
      await statusOf(await browser.token({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' })),
    ).toEqual([403, 'ORIGIN_REJECTED'])
    expect(await statusOf(await browser.token({ 'sec-purpose': 'prefetch' }))).toEqual([
      400,
      'PREFETCH_REJECTED',
    ])
    const twice = { cookie: `${browser.header()}; ${COOKIE}=x.y` }
    expect(await statusOf(await browser.token(twice))).toEqual([401, 'COOKIE_CONFLICT'])
    await browser.token()
    database.prepare("update user set banned = 1 where email = 'rejected@example.com'").run()
    expect(await statusOf(await browser.token())).toEqual([403, 'ACCOUNT_BANNED'])
    // As `banUser` does.
    database.prepare('delete from session where token = ?').run(browser.cookies.get(COOKIE)?.split('.')[0])
    expect(await statusOf(await browser.token())).toEqual([403, 'ACCOUNT_BANNED'])
  })

  test('an outage of the database is 503, and the cookies stay', async () => {
    const browser = browse()
    await browser.signUp('outage')
    const { adapter } = await auth.$context
    const broken = vi.spyOn(adapter, 'findOne').mockRejectedValue(new Error('no connection'))
    const response = await browser.token()
    broken.mockRestore()
    expect([response.status, (await response.json()).code]).toEqual([503, 'SESSIONS_UNAVAILABLE'])
    expect(response.headers.getSetCookie()).toEqual([])
  })

  test('needs x-sallyport: 1 from a program, which another site cannot send', async () => {
    const browser = browse()
    await browser.signUp('program')
    const statusOf = async (headers: Record<string, string>) => {
      const cookie = browser.header()
      return (await send(`${ORIGIN}/api/auth/backend/token`, { headers: { cookie, ...headers } })).status
    }
    expect(await statusOf({})).toBe(403)
    expect(await statusOf({ 'x-sallyport': '1' })).toBe(200)
  })

  test('responds with 503 during an outage, and keeps the cookies', async () => {
    const broken = await createJwtScene()
    const browser = broken.browse()
    await browser.signUp('ada')
    broken.database.exec('alter table session rename to gone')
    const response = await browser.token()
    expect([response.status, (await response.json()).code]).toEqual([503, 'SESSIONS_UNAVAILABLE'])
    expect(response.headers.getSetCookie()).toEqual([])
  })
})

test("Sallyport's client refreshes and signs out", async () => {
  const browser = browse()
  await browser.signUp('client')
  const client = createAuthClient({ baseUrl: ORIGIN, fetch: browser.fetch, isServer: false })
  expect(await client.refresh()).toMatchObject({ status: 'authenticated' })
  expect(await client.signOut()).toMatchObject({ status: 'unauthenticated' })
  expect(await browser.me()).toBe('TOKEN_MISSING')
})

test('a page without a JWT gets one: its user is not anonymous', async () => {
  const browser = browse()
  await browser.signUp('idle')
  const cookie = `${COOKIE}=${browser.cookies.get(COOKIE)}`
  expect(await browse(cookie).visitor()).toBe('TOKEN_EXPIRED')
  const serverAuth = createServerAuth({ config: scene.config, token: auth.handler })
  const page = await serverAuth(new Request(ORIGIN, { headers: { cookie } }))
  expect(page).toMatchObject({
    state: { status: 'authenticated' },
    setCookies: [expect.stringMatching(/^service\.jwt=/)],
  })
  database
    .prepare("delete from session where userId = (select id from user where email = 'idle@example.com')")
    .run()
  const later = await serverAuth(new Request(ORIGIN, { headers: { cookie } }))
  expect(later).toMatchObject({ state: { status: 'unauthenticated' }, reason: 'SESSION_NOT_FOUND' })
})

test('with bearer transport, the JWT is in the body and needs no cookie', async () => {
  const programs = await createJwtScene({ isBearer: true })
  const browser = programs.browse()
  const authorization = `Bearer ${(await browser.signUp('program')).headers.get('set-auth-token')}`
  const response = await programs.browse().token({ authorization })
  expect(response.headers.getSetCookie()).toEqual([])
  const { token } = await response.json()
  const me = (headers: Record<string, string>) => programs.send(`${ORIGIN}/trpc/me`, { headers })
  expect(await (await me({ authorization: `Bearer ${token}` })).json()).toMatchObject({
    result: { data: 'program@example.com' },
  })
  const asCookie = { cookie: `${JWT}=${token}; ${COOKIE}=${browser.cookies.get(COOKIE)}` }
  expect((await me(asCookie)).status).toBe(401)
})

test('a bearer token never extends an impersonation', async () => {
  const { browse, database } = await createJwtScene({ isBearer: true })
  const authorization = `Bearer ${(await browse().signUp('guest')).headers.get('set-auth-token')}`
  const soon = new Date(Date.now() + 60_000).toISOString()
  const expiresAt = () => database.prepare('select expiresAt from session').pluck().get()
  database.prepare(`update session set expiresAt = ?, impersonatedBy = 'root'`).run(soon)
  expect((await browse().token({ authorization })).status).toBe(200)
  expect(expiresAt()).toBe(soon)
  database.exec('update session set impersonatedBy = null')
  expect((await browse().token({ authorization })).status).toBe(200)
  expect(expiresAt()).not.toBe(soon)
})

test('a process that reads the sessions through the guard', async () => {
  const { browse } = await createJwtScene({ attach: (auth, db) => betterAuthGuard(auth).attach(db) })
  const browser = browse()
  await browser.signUp('remote')
  expect(await browser.me()).toBe('remote@example.com')
  await browser.post('/sign-out')
  expect(await browser.me()).toBe('TOKEN_MISSING')
})

test.each([
  ['the session cookie', { config: { sessionCookie: undefined } }, `Set sessionCookie: '${COOKIE}'`],
  ['keys', { config: {}, signingKeys: undefined }, 'SIGNING_KEYS is not set'],
  ['ids that are used once', { config: {}, advanced: { database: { generateId: false } } }, 'Use text ids'],
] as const)('a configuration without %s fails with its name', async (_name, changes, message) => {
  const { config, signingKeys } = scene
  const onFailure = vi.fn()
  const plugin = sallyportJwt({
    signingKeys,
    ...changes,
    config: { ...config, ...changes.config, onFailure },
  })
  const advanced = 'advanced' in changes ? changes.advanced : {}
  const auth = betterAuth({ ...scene.auth.options, advanced, plugins: [plugin] })
  const request = new Request(`${ORIGIN}/api/auth/backend/token`)
  expect((await auth.handler(request)).status).toBe(500)
  const cause = expect.objectContaining({ message: expect.stringContaining(message) })
  const failure = { code: 'CONFIGURATION_INVALID', path: '/backend/token', step: 'endpoint', cause }
  expect(onFailure).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(failure))
})
