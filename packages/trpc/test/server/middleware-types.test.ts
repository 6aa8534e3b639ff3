import type { Identity, Session } from '@sallyport/core'
import type { Auth, EndpointContext } from '@sallyport/core/auth'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import {
  type AuthContext,
  type AuthErrorData,
  authErrorData,
  type BoundSession,
  createAuthContext,
  createSensitiveSessionMiddleware,
  type DatabaseContext,
  type GuardSource,
  getSession,
  optionalSessionMiddleware,
  type PermissionGuards,
  type RateLimitContext,
  rateLimit,
  requireRole,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import type { AuthClient } from '@sallyport/trpc/client'
import type { TRPCClientErrorLike } from '@trpc/client'
import { type inferRouterInputs, type inferRouterOutputs, initTRPC, TRPCError } from '@trpc/server'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
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

const auth = await createTestAuth()
afterAll(() => auth.close())

describe('the types that a session middleware adds', () => {
  test.each([
    { name: 'sessionMiddleware', middleware: sessionMiddleware },
    { name: 'sensitiveSessionMiddleware', middleware: sensitiveSessionMiddleware },
    {
      name: 'createSensitiveSessionMiddleware()',
      middleware: createSensitiveSessionMiddleware({ maxAge: 60 }),
    },
  ])(
    '$name adds session and identity, and leaves the rest of the context unchanged',
    async ({ middleware }) => {
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
    },
  )

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

  test('a function may be generic over the context', () => {
    function createProcedure<Context extends DatabaseContext>() {
      return initTRPC.context<Context>().create().procedure.use(sessionMiddleware)
    }
    createProcedure<Context>().query(({ ctx }) => {
      expectTypeOf(ctx.session).toEqualTypeOf<Session>()
      expectTypeOf(ctx.requestId).toEqualTypeOf<string>()
    })
  })

  test('rateLimit leaves the context unchanged, before and after a session middleware', () => {
    t.procedure.use(rateLimit({ points: 1, duration: 1 })).query(({ ctx }) => {
      expectTypeOf(ctx.requestId).toEqualTypeOf<string>()
      // @ts-expect-error without a middleware, ctx.session does not exist
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

  test('a rateLimit function receives the call, with an unparsed input', () => {
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

  test("inputs and outputs are the app's", () => {
    const router = t.router({
      add: t.procedure
        .use(sessionMiddleware)
        .input(z.object({ text: z.string() }))
        .mutation(({ input }) => ({ length: input.text.length })),
    })
    expectTypeOf<inferRouterInputs<typeof router>['add']>().toEqualTypeOf<{ text: string }>()
    expectTypeOf<inferRouterOutputs<typeof router>['add']>().toEqualTypeOf<{ length: number }>()
  })

  test("the error shape is the app's, with the reason", () => {
    const router = t.router({ me: t.procedure.use(sessionMiddleware).query(() => 'ok') })
    type Data = NonNullable<TRPCClientErrorLike<typeof router>['data']>
    expectTypeOf<Data['requestId']>().toEqualTypeOf<string>()
    expectTypeOf<Data['auth']>().toEqualTypeOf<AuthErrorData | null>()
    expect(authErrorData({ error: new TRPCError({ code: 'NOT_FOUND' }), path: 'me' })).toBeNull()
  })

  test("meta is the app's", () => {
    t.procedure
      .meta({ cost: 1 })
      .use(sessionMiddleware)
      .use(({ meta, next }) => {
        expectTypeOf(meta).toEqualTypeOf<{ cost: number } | undefined>()
        return next()
      })
    // @ts-expect-error not a member of the app's meta
    t.procedure.use(sessionMiddleware).meta({ price: 1 })
  })
})

// The guides destructure them or pass them on, which linters report for methods.
test('functions that are used alone are not declared as methods', () => {
  type Alone = Pick<Auth, 'handler'> &
    Pick<EndpointContext, 'limit' | 'giveBack' | 'change' | 'later'> &
    Pick<BoundSession<GuardSource>, 'getSession' | 'createSensitiveSessionMiddleware'> &
    Pick<PermissionGuards, 'requirePermission' | 'requireOrganizationPermission'> &
    Pick<AuthClient, 'subscribe'>
  // Only the parameters of a method are compared in both directions.
  type Methods = {
    [Name in keyof Alone]: ((first: never) => never) extends Alone[Name] ? Name : never
  }[keyof Alone]
  expectTypeOf<Methods>().toBeNever()
})

describe('type errors', () => {
  test('a session middleware on a context without auth, or without db', () => {
    const withoutAuth = initTRPC.context<Omit<Context, 'auth'>>().create()
    // @ts-expect-error ctx.auth is missing
    withoutAuth.procedure.use(sessionMiddleware)
    // @ts-expect-error ctx.auth is missing
    withoutAuth.procedure.use(optionalSessionMiddleware)

    const withoutDb = initTRPC.context<AuthContext>().create()
    // @ts-expect-error ctx.db is missing
    withoutDb.procedure.use(sessionMiddleware)
    // @ts-expect-error ctx.db is missing
    withoutDb.procedure.use(sensitiveSessionMiddleware)

    const withOtherDb = initTRPC.context<AuthContext & { db: { query: () => void } }>().create()
    // @ts-expect-error ctx.db has no session store
    withOtherDb.procedure.use(sessionMiddleware)
  })

  test('requireRole before a session middleware, or without a role', () => {
    // @ts-expect-error ctx.session does not exist yet
    t.procedure.use(requireRole('admin'))
    // @ts-expect-error the session may be null
    t.procedure.use(optionalSessionMiddleware).use(requireRole('admin'))
    // @ts-expect-error at least one role is required
    requireRole()
  })

  test('a rateLimit on a context without auth or db, or by an unknown key', () => {
    const withoutAuth = initTRPC.context<Omit<Context, 'auth'>>().create()
    // @ts-expect-error ctx.auth is missing
    withoutAuth.procedure.use(rateLimit({ points: 1, duration: 1 }))
    const withoutDb = initTRPC.context<AuthContext>().create()
    // @ts-expect-error ctx.db is missing
    withoutDb.procedure.use(rateLimit({ points: 1, duration: 1 }))
    // @ts-expect-error session is not one of the keys
    rateLimit({ points: 1, duration: 1, by: 'session' })
    // @ts-expect-error a name must be a string
    rateLimit({ points: 1, duration: 1, by: () => 7 })
  })

  test('a non-null session behind an optional guard', () => {
    t.procedure.use(optionalSessionMiddleware).query(({ ctx }) => {
      // @ts-expect-error the session may be null
      return ctx.session.userId
    })
    // @ts-expect-error without a middleware, ctx.session does not exist
    t.procedure.query(({ ctx }) => ctx.session)
  })

  test('getSession without a database', () => {
    const { auth: handle } = createAuthContext(auth.config).headers({})
    // @ts-expect-error Step 2 needs ctx.db
    const call = () => getSession({ auth: handle })
    expect(call).toBeTypeOf('function')
  })
})
