import type { AuthDatabase, Identity, Session } from '@sallyport/core'
import type { SessionOf, UserOf } from '@sallyport/core/auth'
import {
  type AuthContext,
  type AuthErrorData,
  authErrorData,
  type DatabaseContext,
  rateLimit,
  requireRole,
  sessionMiddleware,
} from '@sallyport/trpc'
import type { BoundApi, GetAuth, RunMutation, Runner, RunQuery, RuntimeContext } from '@sallyport/trpc/action'
import { type AuthedAction, createAuthedAction } from '@sallyport/trpc/action'
import type { TRPCClientErrorLike } from '@trpc/client'
import { type inferRouterInputs, type inferRouterOutputs, initTRPC } from '@trpc/server'
import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import type { internal, ProbeDefinition } from '../support/open-runtime.ts'

interface Context extends DatabaseContext {
  readonly db: AuthDatabase & { readonly name: 'app' }
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

/** Nothing here is called. */
const getAuth: GetAuth<ProbeDefinition> = () => {
  throw new Error('for the types alone')
}
const runner: Runner = { run: async () => null }

const authedAction = createAuthedAction(t.procedure, getAuth, runner)

describe('what an action finds in its context', () => {
  test('session and user of the definition, the endpoints, the functions, and what the app has put there', () => {
    authedAction.mutation(({ ctx, input }) => {
      expectTypeOf(ctx.session).toEqualTypeOf<SessionOf<ProbeDefinition>>()
      expectTypeOf(ctx.user).toEqualTypeOf<UserOf<ProbeDefinition>>()
      expectTypeOf(ctx.session.theme).toEqualTypeOf<string | null>()
      expectTypeOf(ctx.user.locale).toEqualTypeOf<'en' | 'de'>()
      expectTypeOf(ctx.session).toExtend<Session>()
      expectTypeOf(ctx.identity).toEqualTypeOf<Identity>()
      expectTypeOf(ctx.auth.signal).toEqualTypeOf<AbortSignal>()
      expectTypeOf(ctx.auth.api).toEqualTypeOf<BoundApi<ProbeDefinition['plugins']>>()
      expectTypeOf(ctx.runQuery).toEqualTypeOf<RunQuery>()
      expectTypeOf(ctx.runMutation).toEqualTypeOf<RunMutation>()
      expectTypeOf(ctx.requestId).toEqualTypeOf<string>()
      expectTypeOf(input).toEqualTypeOf<undefined>()
    })
  })

  test('no database', () => {
    authedAction.query(({ ctx }) => {
      expectTypeOf(ctx).not.toHaveProperty('db')
      // @ts-expect-error an action has no database
      return ctx.db
    })
  })

  test('a context that getAuth takes', () => {
    authedAction.query(({ ctx }) => expectTypeOf(ctx).toExtend<RuntimeContext>())
  })

  test('functions with the types of the internal router, as JSON has them', () => {
    authedAction.mutation(async ({ ctx }) => {
      const functions: typeof internal = Object.create(null)
      const save = () => ctx.runMutation(functions.note.save, { text: 'hi' }, { idempotencyKey: 'k1' })
      expectTypeOf(save).returns.resolves.toEqualTypeOf<{ by: string | null; at: string }>()
      const list = () => ctx.runQuery(functions.note.list)
      expectTypeOf(list).returns.resolves.toEqualTypeOf<{ notes: string[]; by: string | null }>()
      // @ts-expect-error a mutation is no query
      const misread = () => ctx.runQuery(functions.note.save, { text: 'hi' })
      // @ts-expect-error a query is no mutation
      const miswritten = () => ctx.runMutation(functions.note.list)
      // @ts-expect-error the input is required
      const empty = () => ctx.runMutation(functions.note.save)
      return [misread, miswritten, empty]
    })
  })
})

describe('the builder is that of the app', () => {
  test('with its meta, its error shape, its inputs and its outputs', () => {
    const router = t.router({
      report: authedAction
        .meta({ cost: 2 })
        .input(z.object({ title: z.string() }))
        .output(z.object({ length: z.number() }))
        .mutation(({ input }) => ({ length: input.title.length })),
      count: authedAction.query(() => 3),
      clock: authedAction.subscription(async function* () {
        yield 1
      }),
    })
    expectTypeOf<inferRouterInputs<typeof router>['report']>().toEqualTypeOf<{ title: string }>()
    expectTypeOf<inferRouterOutputs<typeof router>['report']>().toEqualTypeOf<{ length: number }>()
    expectTypeOf<inferRouterOutputs<typeof router>['count']>().toEqualTypeOf<number>()
    type Data = NonNullable<TRPCClientErrorLike<typeof router>['data']>
    expectTypeOf<Data['requestId']>().toEqualTypeOf<string>()
    expectTypeOf<Data['auth']>().toEqualTypeOf<AuthErrorData | null>()
    // @ts-expect-error the app knows no such meta
    authedAction.meta({ price: 1 })
    expectTypeOf(authedAction).toEqualTypeOf<AuthedAction<typeof t.procedure, ProbeDefinition>>()
  })

  test('and takes further middlewares: of ours, and those of the app that need no database', () => {
    authedAction
      .use(requireRole('admin'))
      .use(rateLimit({ points: 1, duration: 1 }))
      .use(({ ctx, next }) => next({ ctx: { team: ctx.session.userId } }))
      .query(({ ctx }) => {
        expectTypeOf(ctx.team).toEqualTypeOf<string>()
        expectTypeOf(ctx.user).toEqualTypeOf<UserOf<ProbeDefinition>>()
      })
    const counted = t.middleware(({ ctx, next }) => next({ ctx: { name: ctx.db.name } }))
    // @ts-expect-error it needs ctx.db
    authedAction.use(counted)
    // @ts-expect-error it needs ctx.db
    authedAction.use(sessionMiddleware)
  })

  test('keeps what earlier middlewares have added', () => {
    const procedure = t.procedure.use(({ next }) => next({ ctx: { region: 'eu' as const } }))
    createAuthedAction(procedure, getAuth, ({ region, requestId, db }) => {
      expectTypeOf(region).toEqualTypeOf<'eu'>()
      expectTypeOf(requestId).toEqualTypeOf<string>()
      expectTypeOf(db).toEqualTypeOf<Context['db']>()
      return runner
    }).query(({ ctx }) => {
      expectTypeOf(ctx.region).toEqualTypeOf<'eu'>()
      // @ts-expect-error an action has no database
      return ctx.db
    })
  })
})

describe('the app', () => {
  test('may have a context without a database, or one that is there in some processes', () => {
    const withoutDb = initTRPC.context<AuthContext>().create()
    createAuthedAction(withoutDb.procedure, getAuth, runner).query(({ ctx }) => {
      expectTypeOf(ctx.user.locale).toEqualTypeOf<'en' | 'de'>()
    })
    const withDbHereAndThere = initTRPC
      .context<AuthContext & { readonly db?: AuthDatabase; readonly runner: Runner }>()
      .create()
    createAuthedAction(withDbHereAndThere.procedure, getAuth, ({ runner: own }) => own).query(({ ctx }) => {
      expectTypeOf(ctx.runner).toEqualTypeOf<Runner>()
      // @ts-expect-error an action has no database
      return ctx.db
    })
  })

  test('must have auth in its context, and a db that carries sessions or none', () => {
    const withoutAuth = initTRPC.context<{ readonly db: AuthDatabase }>().create()
    // @ts-expect-error there is no ctx.auth
    createAuthedAction(withoutAuth.procedure, getAuth, runner)
    const withOtherDb = initTRPC.context<AuthContext & { readonly db: { query(): void } }>().create()
    // @ts-expect-error ctx.db carries no store of sessions
    createAuthedAction(withOtherDb.procedure, getAuth, runner)
    const withoutDb = initTRPC.context<AuthContext & { readonly runner: Runner }>().create()
    createAuthedAction(withoutDb.procedure, getAuth, ({ runner: own }) => own).query(({ ctx }) => {
      expectTypeOf(ctx.runner).toEqualTypeOf<Runner>()
      expectTypeOf(ctx.session.userId).toEqualTypeOf<string>()
    })
    // @ts-expect-error there has to be a way to the database
    expect(() => createAuthedAction(t.procedure, getAuth)).toBeTypeOf('function')
  })
})
