// Next.js loads it before any app.
import 'next/dist/server/node-environment-baseline.js'
import { withAuthStore } from '@sallyport/core'
import { createTestAuth, type TestSession } from '@sallyport/core/testing'
import { type DatabaseContext, optionalSessionMiddleware, sessionMiddleware } from '@sallyport/trpc'
import { createNextAuth, type NextAuthOptions, type NextContextOptions } from '@sallyport/trpc/next'
import { initTRPC } from '@trpc/server'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { handleRoute } from './handle-route.ts'

interface Context extends DatabaseContext, NextContextOptions {}

const t = initTRPC.context<Context>().create()
const router = t.router({
  address: t.procedure.query(({ ctx }) => ctx.auth.address()),
  cookies: t.procedure.query(({ ctx }) => ctx.headers.get('cookie')),
  me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.id),
  broken: t.procedure.query(() => {
    throw new Error('broken', { cause: { reason: 'secret' } })
  }),
  guest: t.procedure.use(optionalSessionMiddleware).mutation(({ ctx }) => ctx.session?.userId ?? null),
})

const rejections: string[] = []
let auth: Awaited<ReturnType<typeof createTestAuth>>
let ada: TestSession
beforeAll(async () => {
  auth = await createTestAuth({
    session: { rotateSessionToken: true },
    onEvent: (event) => void (event.type === 'decision.denied' && rejections.push(event.reason)),
  })
})
beforeEach(async () => {
  ada = await auth.signIn()
  rejections.length = 0
})
afterAll(() => auth.close())

/** Counts the contexts of the latest app. */
let contexts = 0
function createApp(options: Partial<NextAuthOptions<typeof router>> = {}) {
  contexts = 0
  return createNextAuth({
    auth,
    config: auth.config,
    router,
    createContext(request) {
      contexts += 1
      return { ...request, db: auth.db }
    },
    ...options,
  })
}

/** Runs `work` in the scope of a request, as Next.js does. */
async function inRequest<Result>(
  headers: Readonly<Record<string, string>>,
  work: () => Promise<Result>,
): Promise<{ result?: Result; error?: unknown; setCookies: string[] }> {
  let outcome: { result?: Result; error?: unknown } = {}
  const POST = async () => {
    outcome = await work().then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    )
    return new Response()
  }
  const url = 'http://localhost:3000/work'
  const response = await handleRoute('/work', { POST })(new Request(url, { method: 'POST', headers }))
  const setCookies = response.headers.getSetCookie().map((setCookie) => setCookie.split('=')[0] ?? '')
  return { ...outcome, setCookies }
}

const ORIGIN = { origin: 'http://localhost:3000' }
const errorOf = (reason: string) => ({ cause: { reason } })

test('requires auth or the URL of another auth server', () => {
  const { config } = auth
  const options = {
    config,
    router,
    createContext: (request: NextContextOptions) => ({ ...request, db: auth.db }),
  }
  expect(() => createNextAuth(options)).toThrow('createNextAuth: set auth, or token')
  createNextAuth({ ...options, token: { url: 'https://auth.example.com' } })
})

describe('the address', () => {
  const headers = { 'x-forwarded-for': '203.0.113.1', 'x-real-ip': '203.0.113.2', undefined: '203.0.113.3' }
  test.each([
    { name: 'is unknown without addressHeader', options: {}, address: null },
    { name: 'is the one of addressHeader', options: { addressHeader: 'x-real-ip' }, address: '203.0.113.2' },
  ])('$name, also in pages and Server Actions', async ({ options, address }) => {
    const { GET, pageContext, actionCaller } = createApp(options)
    const response = await handleRoute('/api/trpc/[trpc]', { GET })(
      new Request('http://localhost:3000/api/trpc/address', { headers }),
    )
    expect(await response.json()).toEqual({ result: { data: address } })
    const page = await inRequest(headers, () => router.createCaller(pageContext).address())
    expect(page.result).toBe(address)
    const action = await inRequest(headers, () => actionCaller.address())
    expect(action.result).toBe(address)
  })
})

describe('a page', () => {
  test('refreshes its JWT with the address of the browser, as does a Server Action', async () => {
    const other = await createTestAuth()
    const session = await other.expireJwt(await other.signIn())
    const addresses: unknown[] = []
    const { getPage, actionCaller } = createNextAuth({
      config: other.config,
      router,
      addressHeader: 'x-real-ip',
      createContext: (request) => ({ ...request, db: other.db }),
      token(request, connection) {
        addresses.push(connection?.remoteAddress)
        return other.handler(request)
      },
    })
    const headers = { ...ORIGIN, cookie: session.cookie, 'x-real-ip': '203.0.113.2' }
    const page = await inRequest(headers, getPage)
    expect(page.result).toMatchObject({ state: { status: 'authenticated' } })
    const action = await inRequest(headers, () => actionCaller.me())
    expect(action.result).toBe(session.userId)
    expect(addresses).toEqual(['203.0.113.2', '203.0.113.2'])
    await other.close()
  })

  test('and a Server Action refresh once, also for several calls', async () => {
    const session = await auth.expireJwt(ada)
    let tokens = 0
    const token: typeof auth.handler = (...request) => {
      tokens += 1
      return auth.handler(...request)
    }
    const { actionCaller } = createApp({ token })
    const { result } = await inRequest({ ...ORIGIN, cookie: session.cookie }, async () => [
      await actionCaller.me(),
      ...(await Promise.all([actionCaller.me(), actionCaller.guest()])),
    ])
    expect(result).toEqual([ada.userId, ada.userId, ada.userId])
    expect(tokens).toBe(1)
  })

  test('without a user makes no call that is rejected', async () => {
    const { getPage } = createApp()
    const { result } = await inRequest({}, getPage)
    expect(result).toMatchObject({ state: { status: 'unauthenticated' }, reason: null })
    expect(rejections).toEqual([])
  })

  test.each([
    { end: () => auth.revoke(ada), status: 'unauthenticated', reason: 'SESSION_NOT_FOUND' },
    { end: () => auth.ban(ada), status: 'unknown', reason: 'ACCOUNT_BANNED' },
  ])('has the reason $reason of Step 2 before it calls the router', async ({ end, status, reason }) => {
    const { getPage } = createApp()
    await end()
    const { result } = await inRequest({ cookie: ada.cookie }, getPage)
    expect(result).toMatchObject({ state: { status }, reason })
  })

  test('is unknown if Step 2 cannot decide, or rejects a JWT that the page cannot refresh', async () => {
    const down = { findSession: () => Promise.reject(new Error('down')) }
    const db = withAuthStore({}, { sessions: down, revocations: auth.database.revocations })
    const outage = createApp({ createContext: (request) => ({ ...request, db }) })
    const page = { state: { status: 'unknown' }, headers: expect.any(Headers) }
    const { result } = await inRequest({ cookie: ada.cookie }, outage.getPage)
    expect(result).toMatchObject({ ...page, reason: 'SESSIONS_UNAVAILABLE' })

    await auth.db.updateTable('session').set({ version: 3 }).where('id', '=', ada.sessionId).execute()
    // With `rotateSessionToken`, a page without a request refreshes nothing.
    const { result: copied } = await inRequest({ cookie: ada.cookie }, createApp().getPage)
    expect(copied).toMatchObject({ ...page, reason: 'TOKEN_INVALID' })
  })

  test('fails if its context cannot be created', async () => {
    const { getPage } = createApp({ createContext: () => Promise.reject(new Error('no context')) })
    const { error } = await inRequest({ cookie: ada.cookie }, getPage)
    expect(error).toEqual(new Error('no context'))
  })

  test('creates one context for all calls with the same cookies', async () => {
    const { getPage, pageContext } = createApp()
    const caller = router.createCaller(pageContext)
    const { result } = await inRequest({ cookie: ada.cookie }, async () => {
      await getPage()
      return [await caller.me(), await caller.me()]
    })
    expect(result).toEqual([ada.userId, ada.userId])
    expect(contexts).toBe(1)
  })
})

describe('a Server Action', () => {
  const expired = async () => ({ ...ORIGIN, cookie: (await auth.expireJwt(ada)).cookie })

  test('with an expired JWT gets a new one, and so does the browser', async () => {
    const { actionCaller } = createApp()
    const { result, setCookies } = await inRequest(await expired(), () => actionCaller.me())
    expect(result).toBe(ada.userId)
    expect(setCookies).toEqual(['service.jwt', 'service.session'])
  })

  test('has the headers with the new cookies', async () => {
    const { actionCaller } = createApp()
    const headers = await expired()
    const { result } = await inRequest(headers, () => actionCaller.cookies())
    expect(result).not.toBe(headers.cookie)
  })

  test('of an ended session is anonymous, and deletes its cookies', async () => {
    const { actionCaller } = createApp()
    await auth.revoke(ada)
    const { result, setCookies } = await inRequest(await expired(), () => actionCaller.guest())
    expect(result).toBeNull()
    expect(setCookies).toEqual(['service.jwt', 'service.session'])
  })

  test.each([
    { from: 'from another origin', headers: { origin: 'https://example.com' } },
    { from: 'that no page sent', headers: { 'sec-fetch-site': 'none' } },
  ])('$from is rejected as a mutation', async ({ headers }) => {
    const { actionCaller } = createApp()
    const { error } = await inRequest({ cookie: ada.cookie, ...headers }, () => actionCaller.me())
    expect(error).toMatchObject({ ...errorOf('ORIGIN_REJECTED'), digest: 'ORIGIN_REJECTED' })
  })

  test('that fails for another reason sends no digest', async () => {
    const { actionCaller } = createApp()
    const { error } = await inRequest(ORIGIN, () => actionCaller.broken())
    expect(error).toMatchObject({ message: 'broken' })
    expect(error).not.toHaveProperty('digest')
  })

  test('fails with 503 if the JWT cannot be refreshed, not as signed out', async () => {
    const fetch = async () => Response.json({ code: 'SESSIONS_UNAVAILABLE' }, { status: 503 })
    const { actionCaller } = createApp({ token: { url: 'https://auth.example.com', fetch } })
    const { error } = await inRequest(await expired(), () => actionCaller.guest())
    expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', ...errorOf('SESSIONS_UNAVAILABLE') })
  })

  test('fails with the reason of Step 2, also as the digest', async () => {
    const { actionCaller } = createApp()
    await auth.ban(ada)
    const { error } = await inRequest({ ...ORIGIN, cookie: ada.cookie }, () => actionCaller.me())
    expect(error).toMatchObject({ ...errorOf('ACCOUNT_BANNED'), digest: 'ACCOUNT_BANNED' })
  })
})
