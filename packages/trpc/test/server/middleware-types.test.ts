import type { Identity, Session } from '@sallyport/core'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import {
  type AuthContext,
  type AuthErrorData,
  authErrorData,
  createAuthContext,
  createSensitiveSessionMiddleware,
  type DatabaseContext,
  getSession,
  optionalSessionMiddleware,
  type RateLimitContext,
  rateLimit,
  requireRole,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import type { TRPCClientErrorLike } from '@trpc/client'
import { type inferRouterInputs, type inferRouterOutputs, initTRPC, TRPCError } from '@trpc/server'
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { browser } from '../support/visitor.ts'

interface Context extends DatabaseContext {
  readonly db: TestAuth['db']
  readonly requestId: string
}

const t = initTRPC
  .context<Context>()
  .meta<{ cost: number }>()
  .create({
    errorFormatter: ({ shape, error, path, ctx }) => ({
      ...shape,
      data: { ...shape.data, auth: authErrorData({ error, path }), requestId: ctx?.requestId ?? 'none' },
    }),
  })

let auth: TestAuth
beforeAll(async () => {
  auth = await createTestAuth()
})
afterAll(() => auth.close())

describe('what a session middleware does to the types of an app', () => {
  test.each([
    { name: 'sessionMiddleware', middleware: sessionMiddleware },
    { name: 'sensitiveSessionMiddleware', middleware: sensitiveSessionMiddleware },
    {
      name: 'createSensitiveSessionMiddleware()',
      middleware: createSensitiveSessionMiddleware({ maxAge: 60 }),
    },
  ])('$name adds session and identity, and leaves the rest of the context alone', async ({ middleware }) => {
    const router = t.router({
      me: t.procedure.use(middleware).query(({ ctx }) => {
        expectTypeOf(ctx.session).toEqualTypeOf<Session>()
        expectTypeOf(ctx.identity).toEqualTypeOf<Identity>()
        expectTypeOf(ctx.auth.signal).toEqualTypeOf<AbortSignal>()
        expectTypeOf(ctx.db).toEqualTypeOf<TestAuth['db']>()
        expectTypeOf(ctx.requestId).toEqualTypeOf<string>()
        const { requestId, session, identity } = ctx
        return { requestId, userId: session.userId, sessionId: identity.sessionId }
      }),
    })
    const { userId, sessionId, cookie } = await auth.signIn()
    const context = createAuthContext(auth.config).headers(browser({ cookie }).headers)
    const caller = t.createCallerFactory(router)({ ...context, db: auth.db, requestId: 'r1' })
    expect(await caller.me()).toEqual({ requestId: 'r1', userId, sessionId })
  })

  test('optionalSessionMiddleware adds a session that may be null', async () => {
    const router = t.router({
      me: t.procedure.use(optionalSessionMiddleware).query(({ ctx }) => {
        expectTypeOf(ctx.session).toEqualTypeOf<Session | null>()
        expectTypeOf(ctx.identity).toEqualTypeOf<Identity | null>()
        return [ctx.session, ctx.identity]
      }),
    })
    const context = createAuthContext(auth.config).headers({})
    const caller = t.createCallerFactory(router)({ ...context, db: auth.db, requestId: 'r1' })
    expect(await caller.me()).toEqual([null, null])
  })

  test('a later middleware can rely on the session', () => {
    t.procedure.use(sessionMiddleware).use(({ ctx, next }) => {
      expectTypeOf(ctx.session.user.role).toEqualTypeOf<string>()
      return next({ ctx: { team: ctx.session.userId } })
    })
    t.procedure
      .use(sessionMiddleware)
      .use(requireRole('admin'))
      .use(({ ctx, next }) => {
        expectTypeOf(ctx.session).toEqualTypeOf<Session>()
        return next()
      })
  })

  test('rateLimit leaves the context as it was, before and after a session middleware', () => {
    t.procedure.use(rateLimit({ points: 1, duration: 1 })).query(({ ctx }) => {
      expectTypeOf(ctx.requestId).toEqualTypeOf<string>()
      // @ts-expect-error there is no ctx.session without a middleware
      return ctx.session
    })
    t.procedure
      .use(sessionMiddleware)
      .use(rateLimit({ points: 1, duration: 1, by: 'user' }))
      .query(({ ctx }) => {
        expectTypeOf(ctx.session).toEqualTypeOf<Session>()
        expectTypeOf(ctx.auth.signal).toEqualTypeOf<AbortSignal>()
      })
    t.procedure
      .use(optionalSessionMiddleware)
      .use(rateLimit({ points: 1, duration: 1 }))
      .query(({ ctx }) => expectTypeOf(ctx.session).toEqualTypeOf<Session | null>())
  })

  test('the function of a rateLimit knows the call, and that its input has not been parsed', () => {
    t.procedure.input(z.object({ email: z.string() })).use(
      rateLimit({
        points: 1,
        duration: 1,
        by({ ctx, path, input }) {
          expectTypeOf(ctx).toEqualTypeOf<RateLimitContext>()
          expectTypeOf(ctx.session).toEqualTypeOf<Session | null | undefined>()
          expectTypeOf(input).toEqualTypeOf<unknown>()
          return path
        },
      }),
    )
  })

  test('inputs and outputs are those of the app', () => {
    const router = t.router({
      add: t.procedure
        .use(sessionMiddleware)
        .input(z.object({ text: z.string() }))
        .mutation(({ input }) => ({ length: input.text.length })),
    })
    expectTypeOf<inferRouterInputs<typeof router>['add']>().toEqualTypeOf<{ text: string }>()
    expectTypeOf<inferRouterOutputs<typeof router>['add']>().toEqualTypeOf<{ length: number }>()
  })

  test('the error shape is that of the app, with the reason in it', () => {
    const router = t.router({ me: t.procedure.use(sessionMiddleware).query(() => 'ok') })
    type Data = NonNullable<TRPCClientErrorLike<typeof router>['data']>
    expectTypeOf<Data['requestId']>().toEqualTypeOf<string>()
    expectTypeOf<Data['auth']>().toEqualTypeOf<AuthErrorData | null>()
    expect(authErrorData({ error: new TRPCError({ code: 'NOT_FOUND' }), path: 'me' })).toBeNull()
  })

  test('meta is that of the app', () => {
    t.procedure
      .meta({ cost: 1 })
      .use(sessionMiddleware)
      .use(({ meta, next }) => {
        expectTypeOf(meta).toEqualTypeOf<{ cost: number } | undefined>()
        return next()
      })
    // @ts-expect-error the app knows no such meta
    t.procedure.use(sessionMiddleware).meta({ price: 1 })
  })
})

describe('what does not compile', () => {
  test('a session middleware on a context without auth, or without db', () => {
    const withoutAuth = initTRPC.context<Omit<Context, 'auth'>>().create()
    // @ts-expect-error there is no ctx.auth
    withoutAuth.procedure.use(sessionMiddleware)
    // @ts-expect-error there is no ctx.auth
    withoutAuth.procedure.use(optionalSessionMiddleware)

    const withoutDb = initTRPC.context<AuthContext>().create()
    // @ts-expect-error there is no ctx.db
    withoutDb.procedure.use(sessionMiddleware)
    // @ts-expect-error there is no ctx.db
    withoutDb.procedure.use(sensitiveSessionMiddleware)

    const withOtherDb = initTRPC.context<AuthContext & { db: { query: () => void } }>().create()
    // @ts-expect-error ctx.db carries no store of sessions
    withOtherDb.procedure.use(sessionMiddleware)
  })

  test('requireRole before a session middleware, or without a role', () => {
    // @ts-expect-error there is no ctx.session yet
    t.procedure.use(requireRole('admin'))
    // @ts-expect-error the session may be null
    t.procedure.use(optionalSessionMiddleware).use(requireRole('admin'))
    // @ts-expect-error nobody would be let in
    requireRole()
  })

  test('a rateLimit on a context without auth or without db, or by what it does not know', () => {
    const withoutAuth = initTRPC.context<Omit<Context, 'auth'>>().create()
    // @ts-expect-error there is no ctx.auth
    withoutAuth.procedure.use(rateLimit({ points: 1, duration: 1 }))
    const withoutDb = initTRPC.context<AuthContext>().create()
    // @ts-expect-error there is no ctx.db
    withoutDb.procedure.use(rateLimit({ points: 1, duration: 1 }))
    // @ts-expect-error calls are counted by user or by address
    rateLimit({ points: 1, duration: 1, by: 'session' })
    // @ts-expect-error a name is a text
    rateLimit({ points: 1, duration: 1, by: () => 7 })
  })

  test('createSensitiveSessionMiddleware without maxAge', () => {
    // @ts-expect-error how long is too long?
    expect(() => createSensitiveSessionMiddleware({})).toThrow('maxAge')
  })

  test('a session that is taken for granted where it is optional', () => {
    t.procedure.use(optionalSessionMiddleware).query(({ ctx }) => {
      // @ts-expect-error the session may be null
      return ctx.session.userId
    })
    // @ts-expect-error there is no ctx.session without a middleware
    t.procedure.query(({ ctx }) => ctx.session)
  })

  test('getSession without a database', () => {
    const { auth: handle } = createAuthContext(auth.config).headers({})
    // @ts-expect-error Step 2 needs ctx.db
    const call = () => getSession({ auth: handle })
    expect(call).toBeTypeOf('function')
  })
})
