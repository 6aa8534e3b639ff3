import { defineAuth } from '@sallyport/core/auth'
import { createTestAuth } from '@sallyport/core/testing'
import * as trpc from '@sallyport/trpc'
import { type BoundSession, bindSession, createAuthContext, type DatabaseContext } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { afterAll, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'

const fields = {
  id: 'fields',
  userColumns: { locale: { schema: z.enum(['en', 'de']), default: 'en' } },
  sessionColumns: { theme: { schema: z.string().nullable() } },
} as const
const auth = await createTestAuth({ plugins: [fields] })
afterAll(() => auth.close())

const own = defineAuth({
  config: auth.config,
  signingKeys: auth.definition.signingKeys,
  user: { additionalFields: { credits: { type: 'number', schema: z.number(), default: 0 } } },
})

const bound = bindSession<typeof auth.definition>()
const t = initTRPC.context<DatabaseContext>().create()
const router = t.router({
  guarded: t.procedure.use(bound.sessionMiddleware).query(({ ctx }) => {
    expectTypeOf(ctx.user.locale).toEqualTypeOf<'en' | 'de'>()
    expectTypeOf(ctx.session.theme).toEqualTypeOf<string | null>()
    expectTypeOf(ctx.session.user.locale).toEqualTypeOf<'en' | 'de'>()
    expectTypeOf(ctx.session.userId).toEqualTypeOf<string>()
    expectTypeOf(ctx.auth.signal).toEqualTypeOf<AbortSignal>()
    return [ctx.user.locale, ctx.session.theme, ctx.user === ctx.session.user]
  }),
  optional: t.procedure.use(bound.optionalSessionMiddleware).query(({ ctx }) => {
    expectTypeOf(ctx.session?.theme).toEqualTypeOf<string | null | undefined>()
    return ctx.user?.locale ?? null
  }),
  sensitive: t.procedure.use(bound.sensitiveSessionMiddleware).query(({ ctx }) => {
    expectTypeOf(ctx.transaction).toBeFunction()
    return ctx.user.locale
  }),
  recent: t.procedure
    .use(bound.createSensitiveSessionMiddleware({ maxAge: 60 }))
    .query(({ ctx }) => ctx.user.locale),
  asked: t.procedure.query(async ({ ctx }) => (await bound.getSession(ctx)).user.locale),
})
const callerFor = (headers: Record<string, string>) =>
  router.createCaller({ ...createAuthContext(auth.config).headers(headers), db: auth.db })

test('ctx.session and ctx.user have the added columns in every guard', async () => {
  const { cookie } = await auth.signIn()
  const caller = callerFor({ cookie })
  expect(await caller.guarded()).toEqual(['en', null, true])
  expect(await caller.optional()).toBe('en')
  expect(await caller.sensitive()).toBe('en')
  expect(await caller.recent()).toBe('en')
  expect(await caller.asked()).toBe('en')
})

test('an anonymous caller has neither', async () => {
  expect(await callerFor({}).optional()).toBeNull()
})

test('binding only adds types, and the guards of permissions', () => {
  const { requirePermission, requireOrganizationPermission, forbidImpersonation, ...exported } = bindSession()
  expect(trpc).toMatchObject(exported)
})

test('the type of the result decides as well, such as in JavaScript with JSDoc', () => {
  const { sessionMiddleware }: BoundSession<typeof own> = bindSession()
  t.procedure.use(sessionMiddleware).query(({ ctx }) => {
    expectTypeOf(ctx.user.credits).toEqualTypeOf<number>()
  })
})

test('a definition without columns leaves sessions unchanged', () => {
  const plain = defineAuth({ config: auth.config, signingKeys: auth.definition.signingKeys })
  const { sessionMiddleware } = bindSession<typeof plain>()
  t.procedure.use(sessionMiddleware).query(({ ctx }) => {
    // @ts-expect-error the column does not exist
    return ctx.user.locale
  })
  t.procedure.use(bindSession<typeof own>().sessionMiddleware).query(({ ctx }) => {
    expectTypeOf(ctx.user.credits).toEqualTypeOf<number>()
  })
})
