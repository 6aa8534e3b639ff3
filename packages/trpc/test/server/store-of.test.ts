import { createTestAuth } from '@sallyport/core/testing'
import { createAuthContext, type DatabaseContext, getSession, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import { afterAll, expect, test } from 'vitest'

const auth = await createTestAuth()
afterAll(() => auth.close())
const { cookie } = await auth.signIn()
const t = initTRPC.context<DatabaseContext>().create()
const router = t.router({
  guarded: t.procedure.use(sessionMiddleware).query(() => 'let in'),
  asking: t.procedure.query(({ ctx }) => getSession(ctx)),
})

// What JavaScript lets through where types are passed over.
test.each([
  ['no database', undefined, /The context has no database/],
  ['a database without the store', {}, /withAuthStore/],
])(
  'a context with %s is a mistake of the app, not an outage, and lets nobody in',
  async (_name, db, message) => {
    const context = Object.assign(createAuthContext(auth.config).headers({ cookie }), { db: auth.db })
    const caller = router.createCaller(Object.assign(context, { db }))
    for (const call of [caller.guarded, caller.asking]) {
      const error: unknown = await call().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(TRPCError)
      expect(error).toMatchObject({ code: 'INTERNAL_SERVER_ERROR', cause: { name: 'ConfigurationError' } })
      expect(error).toHaveProperty('message', expect.stringMatching(message))
    }
  },
)
