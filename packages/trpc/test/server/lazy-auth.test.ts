import { AuthError, ConfigurationError, defineAuthConfig, staticJwks, withAuthStore } from '@sallyport/core'
import { createAuth, defineAuth } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import {
  createAuthContext,
  createHandler,
  rateLimit,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { createServerAuth } from '@sallyport/trpc/ssr'
import { initTRPC, TRPCError } from '@trpc/server'
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'

const directory = temporaryDirectory()
const url = `file:${directory}/app.db`
const app = await createTestAuth({ databaseUrl: url })
afterAll(() => app.close())
const ada = await app.signIn()

let fault: Error | null = null
const options = () => ({
  baseUrl: app.config.baseUrl,
  jwks: staticJwks(app.definition.signingKeys.publicJwks),
  now: app.clock.now,
})
const read = vi.fn(options)
const open = vi.fn(async () => {
  if (fault !== null) throw fault
  return openSqlite(url)
})

/** The modules of an app, evaluated once more. */
function createApp() {
  const config = defineAuthConfig(() => ({ ...read(), onFailure() {} }))
  const definition = defineAuth({ config, signingKeys: () => app.definition.signingKeys })
  const auth = createAuth(definition, open, { pruneEverySeconds: 0 })
  const context = createAuthContext(config, auth)
  const serverAuth = createServerAuth({ config, token: auth.handler })
  const t = initTRPC.context<ReturnType<typeof httpContext>>().create()
  const router = t.router({
    me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.id),
    users: t.procedure
      .use(sessionMiddleware)
      .query(({ ctx }) => ctx.db.selectFrom('user').select('id').execute()),
    write: t.procedure
      .use(sensitiveSessionMiddleware)
      .mutation(({ ctx }) =>
        ctx.transaction((trx) => trx.updateTable('user').set({ name: 'Ada' }).executeTakeFirst()),
      ),
    limited: t.procedure.use(rateLimit({ points: 1_000, duration: 60 })).query(() => 'ok'),
  })
  function httpContext(cookie: string) {
    const { auth: handle } = context.headers(new Headers({ cookie }), { method: 'GET' })
    return { auth: handle, db: auth.db }
  }
  function wsContext(cookie: string) {
    const { auth: handle } = context.ws({
      req: { headers: { cookie, origin: app.config.issuer } },
      info: { connectionParams: null },
    })
    return { auth: handle, db: auth.db }
  }
  closers.push(auth.close)
  return { auth, config, context, serverAuth, router, httpContext, wsContext }
}

const closers: (() => Promise<void>)[] = []
beforeEach(() => {
  fault = null
  read.mockReset().mockImplementation(options)
  open.mockClear()
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(async () => {
  vi.useRealTimers()
  for (const close of closers.splice(0)) await close()
})

/** Returns the code of a call's error, with its reason; null if it succeeds. */
async function failureOf(call: Promise<unknown>): Promise<string | null> {
  try {
    await call
    return null
  } catch (error) {
    if (!(error instanceof TRPCError)) throw error
    return error.cause instanceof AuthError ? `${error.code} ${error.cause.reason}` : error.code
  }
}

test('the modules of an app read and open nothing, until the first call opens the database once', async () => {
  const { router, httpContext } = createApp()
  expect(read).not.toHaveBeenCalled()
  const calls = Array.from({ length: 50 }, () => router.createCaller(httpContext(ada.cookie)).me())
  expect(new Set(await Promise.all(calls))).toEqual(new Set([ada.userId]))
  expect(read).toHaveBeenCalledOnce()
  expect(open).toHaveBeenCalledOnce()
})

test.each(['me', 'users', 'limited'] as const)('a first call of %s works', async (name) => {
  const { router, httpContext } = createApp()
  expect(await failureOf(router.createCaller(httpContext(ada.cookie))[name]())).toBe(null)
})

test('a first sensitive write works', async () => {
  const { router, context, auth } = createApp()
  const handle = context.headers(new Headers({ cookie: ada.cookie, 'x-sallyport': '1' }), { method: 'POST' })
  const caller = router.createCaller({ ...handle, db: auth.db })
  expect(await caller.write()).toMatchObject({ numUpdatedRows: 1n })
})

test.each(['httpContext', 'wsContext'] as const)(
  'an outage at the first call of %s is 503, and the same context works after it',
  async (name) => {
    fault = new Error('connect ECONNREFUSED')
    const app = createApp()
    const caller = app.router.createCaller(app[name](ada.cookie))
    const calls = Array.from({ length: 20 }, () => [caller.me(), caller.users(), caller.limited()])
    expect(new Set(await Promise.all(calls.flat().map(failureOf)))).toEqual(
      new Set(['SERVICE_UNAVAILABLE SESSIONS_UNAVAILABLE']),
    )
    expect(open).toHaveBeenCalledOnce()
    fault = null
    // A request shares its reads, also failed ones, for a second.
    vi.advanceTimersByTime(1_001)
    expect(await caller.me()).toBe(ada.userId)
    expect(await caller.users()).toEqual([{ id: ada.userId }])
  },
)

test('a session that was revoked before the database opened is rejected', async () => {
  const grace = await app.signIn()
  await app.revoke(grace)
  const { router, httpContext } = createApp()
  const caller = router.createCaller(httpContext(grace.cookie))
  expect(await failureOf(caller.me())).toBe('UNAUTHORIZED SESSION_NOT_FOUND')
})

test("works with the app's own client and the store", async () => {
  const { auth, router, httpContext } = createApp()
  const db = withAuthStore({}, auth.store)
  const { auth: handle } = httpContext(ada.cookie)
  const t = initTRPC.context<{ auth: typeof handle; db: typeof db }>().create()
  const own = t.router({ me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.id) })
  expect(await own.createCaller({ auth: handle, db }).me()).toBe(ada.userId)
  expect(await router.createCaller(httpContext(ada.cookie)).me()).toBe(ada.userId)
  expect(open).toHaveBeenCalledOnce()
})

test.each([
  { name: 'a ConfigurationError', fail: () => staticJwks(undefined), failure: 'INTERNAL_SERVER_ERROR' },
  {
    name: 'another error',
    fail: () => JSON.parse('{'),
    failure: 'SERVICE_UNAVAILABLE SESSIONS_UNAVAILABLE',
  },
])('options that throw $name reject every call with $failure, and no context throws', async (row) => {
  read.mockImplementation(row.fail)
  const { httpContext, wsContext, router } = createApp()
  for (const context of [httpContext(ada.cookie), wsContext(ada.cookie)])
    expect(await failureOf(router.createCaller(context).me())).toBe(row.failure)
  expect(open).not.toHaveBeenCalled()
})

test('an invalid configuration throws neither for the context of a socket nor for a page', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => logged.mockRestore())
  failWith('Set the keys.')
  const { context, serverAuth } = createApp()
  const socket = { readyState: 1, send() {}, close() {}, on() {} }
  const req = { headers: { cookie: ada.cookie, origin: app.config.issuer } }
  context.ws({ req, res: socket, info: { connectionParams: null } })
  const { state } = await serverAuth(new Headers({ cookie: ada.cookie }))
  expect(state).toEqual({ status: 'unknown' })
  expect(logged).toHaveBeenCalledOnce()
})

test('invalid proxies are an error at the first address', () => {
  const config = defineAuthConfig(() => ({ ...read(), trustedProxies: ['the load balancer'] }))
  const headers = { 'x-forwarded-for': '192.0.2.1' }
  const { auth } = createAuthContext(config).headers(headers, { remoteAddress: '10.0.0.1' })
  for (let attempt = 0; attempt < 2; attempt++) expect(() => auth.address()).toThrow(/^trustedProxies: /)
})

const failWith = (message: string) =>
  read.mockImplementation(() => {
    throw new ConfigurationError(message)
  })

test.each([{ method: 'GET' }, { method: 'OPTIONS' }])(
  'an invalid configuration is a 500 to $method from any origin, and runs nothing',
  async ({ method }) => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    failWith(`Set the ${method}.`)
    const { auth, config } = createApp()
    const t = initTRPC.create()
    const resolve = vi.fn()
    const router = t.router({ me: t.procedure.query(resolve) })
    const handle = createHandler({ auth, config, router, createContext: () => ({}) })
    const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'GET' }
    for (let attempt = 0; attempt < 3; attempt++) {
      const url = `${app.config.issuer}/trpc/me${attempt}`
      const response = await handle(new Request(url, { method, headers }))
      expect([response.status, await response.text()]).toEqual([500, 'Internal Server Error'])
      expect(response.headers.get('access-control-allow-origin')).toBe(null)
    }
    expect(resolve).not.toHaveBeenCalled()
    // Each URL would be another key of the limit.
    expect(logged).toHaveBeenCalledOnce()
  },
)

test.each(['httpContext', 'wsContext'] as const)(
  'an invalid configuration of %s is logged once a minute, and clients get a neutral message',
  async (name) => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] })
    failWith(`Set the ${name}.`)
    const app = createApp()
    const caller = app.router.createCaller(app[name](ada.cookie))
    for (const call of [() => caller.me(), () => caller.me()])
      await expect(call()).rejects.toMatchObject({
        code: 'INTERNAL_SERVER_ERROR',
        message: 'Something went wrong',
      })
    expect(logged).toHaveBeenCalledOnce()
    vi.advanceTimersByTime(60_000)
    expect(logged).toHaveBeenCalledTimes(2)
    await expect(caller.limited()).rejects.toThrow(/^(Something went wrong$|Sessions cannot be checked)/)
    expect(logged.mock.calls[0]).toMatchObject([
      'sallyport: CONFIGURATION_INVALID in me (step1)',
      { message: `Set the ${name}.` },
    ])
  },
)

test('a page resolves its user', async () => {
  const { serverAuth } = createApp()
  expect(read).not.toHaveBeenCalled()
  const page = await serverAuth(new Headers({ cookie: ada.cookie }))
  expect(page.state).toMatchObject({ status: 'authenticated', userId: ada.userId })
  expect(open).not.toHaveBeenCalled()
})
