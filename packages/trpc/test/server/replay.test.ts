import { createTestAuth } from '@sallyport/core/testing'
import { authErrorData, createAuthContext, type DatabaseContext, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { afterAll, expect, test } from 'vitest'

const t = initTRPC.context<DatabaseContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
let written = 0
const inner = t.router({ me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.session.id) })
const router = t.router({
  guarded: t.procedure.use(sessionMiddleware).mutation(() => ++written),
  open: t.procedure.mutation(async ({ ctx }) => {
    written++
    return t.createCallerFactory(inner)(ctx).me()
  }),
})

const auth = await createTestAuth()
afterAll(() => auth.close())

async function replayOf(path: 'guarded' | 'open'): Promise<boolean> {
  written = 0
  const context = createAuthContext(auth.config)
  const response = await fetchRequestHandler({
    endpoint: '/trpc',
    req: new Request(`http://localhost:3000/trpc/${path}`, {
      method: 'POST',
      headers: { origin: auth.config.issuer, 'content-type': 'application/json' },
      body: '{}',
    }),
    router,
    createContext: (o) => ({ ...context.http(o), db: auth.db }),
  })
  const { error } = await response.json()
  expect(error.data.auth.reason).toBe('TOKEN_MISSING')
  return error.data.auth.replay
}

test('a call that its own guard rejected may be replayed', async () => {
  expect(await replayOf('guarded')).toBe(true)
  expect(written).toBe(0)
})

test("a call whose resolver hit another procedure's guard must not be replayed", async () => {
  expect(await replayOf('open')).toBe(false)
  expect(written).toBe(1)
})

test("an error that isn't ours has no auth data", () => {
  expect(authErrorData({ error: new TRPCError({ code: 'NOT_FOUND' }), path: 'guarded' })).toBeNull()
})
