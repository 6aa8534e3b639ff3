import { createTestAuth } from '@sallyport/core/testing'
import {
  createAuthContext,
  createHandler,
  type HandlerContextOptions,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { afterAll, expect, test } from 'vitest'
import * as z from 'zod'
import { ORIGIN } from '../support/visitor.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())
const { config } = auth

const t = initTRPC.context<ReturnType<typeof createContext>>().create()
const router = t.router({
  health: t.procedure.query(() => 'ok'),
  me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.id),
  size: t.procedure.input(z.string()).mutation(({ input }) => input.length),
})
const contexts = createAuthContext(config, { db: auth.db })
function createContext(options: HandlerContextOptions) {
  return { ...contexts.http(options), db: auth.db }
}
const options = { auth, config, router, createContext }
const send = (text: string) =>
  new Request(`${ORIGIN}/trpc/size`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: ORIGIN },
    body: JSON.stringify(text),
  })

test.each(['/trpc', '/trpcs/health', '/api/authentic', '/healthz/', '/'])(
  'responds with 404 to %s',
  async (path) => {
    const response = await createHandler(options)(new Request(ORIGIN + path))
    expect([response.status, await response.text()]).toEqual([404, 'Not found'])
  },
)

test('without auth, serves tRPC alone', async () => {
  const handle = createHandler({ config, router, createContext, endpoint: '/rpc' })
  const paths = ['/rpc/health', '/trpc/health', '/api/auth/session', '/healthz']
  const statuses = paths.map(async (path) => (await handle(new Request(ORIGIN + path))).status)
  expect(await Promise.all(statuses)).toEqual([200, 404, 404, 404])
})

test('/healthz responds with 503 if a part fails, and says which', async () => {
  const healthz = () => createHandler({ ...options, auth: broken })(new Request(`${ORIGIN}/healthz`))
  const parts = { ...(await auth.readiness()), write: 'DATABASE_READ_ONLY' } as const
  const broken = { handler: auth.handler, readiness: async () => parts }
  const response = await healthz()
  expect([response.status, await response.json()]).toEqual([503, { ok: false, ...parts }])
})

test('maxBodySize changes the limit of a body', async () => {
  const [handle, small] = [createHandler({ ...options, maxBodySize: 100_000 }), createHandler(options)]
  const text = 'x'.repeat(90_000)
  expect([(await handle(send(text))).status, (await small(send(text))).status]).toEqual([200, 413])
})

test("passes on tRPC's own options, but a private response is never cached", async () => {
  const paths: unknown[] = []
  const handle = createHandler({
    ...options,
    maxBatchSize: 1,
    onError: ({ path }) => paths.push(path),
    responseMeta: () => ({ headers: { 'cache-control': 'public', 'x-own': ['1', '2'] } }),
  })
  const { cookie } = await auth.signIn()
  const get = async (path: string, headers = {}) => {
    const response = await handle(new Request(`${ORIGIN}/trpc/${path}`, { headers }))
    return [response.status, response.headers.get('cache-control'), response.headers.get('x-own')]
  }
  expect(await get('health')).toEqual([200, 'public', '1, 2'])
  expect(await get('me', { cookie })).toEqual([200, 'no-store', '1, 2'])
  expect(await get('me')).toEqual([401, 'no-store', '1, 2'])
  expect((await get('health,health?batch=1&input=%7B%7D'))[0]).toBe(400)
  expect(paths).toContain('me')
})
