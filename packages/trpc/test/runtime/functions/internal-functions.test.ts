import { type AuthDatabase, type Session, withAuthStore } from '@sallyport/core'
import { createTestAuth } from '@sallyport/core/testing'
import {
  type ActingUser,
  defineInternalFunctions,
  functionsOf,
  type InternalFunctionsOptions,
  localRunner,
  type RunMutation,
  type RunQuery,
} from '@sallyport/trpc/action'
import { initTRPC, lazy } from '@trpc/server'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'

const auth = await createTestAuth()
const { config, db } = auth
afterAll(() => auth.close())

interface Context extends ActingUser {
  readonly db: AuthDatabase
  readonly tenant: string
}
const t = initTRPC.context<Context>().create()
const tenantRouter = t.router({
  name: t.procedure.query(({ ctx }) => ctx.tenant),
  rename: t.procedure.input(z.object({ name: z.string() })).mutation(() => ({ at: new Date(0) })),
  clear: t.procedure.input(z.string().optional()).mutation(() => {}),
})
const router = t.router({ tenant: tenantRouter })
const createContext = () => ({ db, tenant: 'acme' })

const NAME = { type: 'query', path: 'tenant.name', input: undefined, actor: null } as const
const RENAME = { type: 'mutation', path: 'tenant.rename', input: { name: 'b' }, actor: null } as const

const runner = (options: Partial<InternalFunctionsOptions<typeof router>>) =>
  localRunner(defineInternalFunctions({ router, createContext, config, ...options }))

describe('rejects a router with', () => {
  const define = (other: Parameters<typeof defineInternalFunctions>[0]['router']) => () =>
    defineInternalFunctions({ router: other, createContext: () => ({ db }), config })

  test('a subscription', () => {
    const clock = t.procedure.subscription(async function* () {})
    expect(define(t.router({ a: t.router({ clock }) }))).toThrow(
      'internal functions: a.clock is a subscription. Use a query or a mutation',
    )
  })

  test("a lazily loaded part, which can't be checked", () => {
    expect(define(t.router({ later: lazy(async () => ({ tenantRouter })) }))).toThrow(
      'internal functions: later is loaded lazily. Import the router instead',
    )
  })

  test.each([{ sallyport: t.procedure.query(() => 1) }, { sallyport: tenantRouter }])(
    'a reserved name',
    (record) => {
      expect(define(t.router(record))).toThrow(
        /^internal functions: sallyport\S* has a reserved name. Rename it/,
      )
    },
  )

  test('but accepts a name that starts with a reserved one', () => {
    expect(define(t.router({ sallyports: tenantRouter }))).not.toThrow()
  })
})

describe('the context', () => {
  test("is the app's, and may be created asynchronously", async () => {
    expect(await runner({}).run(NAME)).toBe('acme')
    expect(await runner({ createContext: async () => ({ db, tenant: 'b' }) }).run(NAME)).toBe('b')
  })

  test("of the app can't set the acting user", async () => {
    const claimed = { identity: 'eve', session: 'eve', user: 'eve' }
    const acting = t.router({
      acting: t.procedure.query(({ ctx: { identity, session, user } }) => ({ identity, session, user })),
    })
    const functions = defineInternalFunctions({
      router: acting,
      createContext: () => ({ ...createContext(), ...claimed }),
      config,
    })
    expect(await localRunner(functions).run({ ...NAME, path: 'acting' })).toEqual({
      identity: null,
      session: null,
      user: null,
    })
  })

  test("that can't be created is 503, and nothing runs", async () => {
    const createFailing = () => Promise.reject(new Error('no connection'))
    await expect(runner({ createContext: createFailing }).run(NAME)).rejects.toMatchObject({
      reason: 'SESSIONS_UNAVAILABLE',
    })
  })

  test.each([
    ['a context without a database', {} as { db: AuthDatabase }],
    ['a context whose database has no store', { db: {} as AuthDatabase }],
  ])('explains %s', async (_what, context) => {
    await expect(runner({ createContext: () => ({ tenant: '', ...context }) }).run(NAME)).rejects.toThrow(
      /^internal functions: createContext must return the db of openSqlite/,
    )
  })

  test('with a database of another library is enough, except for idempotency keys', async () => {
    const { sessions, revocations } = auth.database
    const foreign = withAuthStore({}, { sessions, revocations })
    const { run } = runner({ createContext: () => ({ db: foreign, tenant: 'acme' }) })
    expect(await run(NAME)).toBe('acme')
    expect(await run(RENAME)).toEqual({ at: '1970-01-01T00:00:00.000Z' })
    await expect(run({ ...RENAME, idempotencyKey: 'a' })).rejects.toThrow(
      /^internal functions: mutations need the db of openSqlite/,
    )
  })
})

test('rejects an invalid limit', () => {
  expect(() => runner({ maxResponseBytes: 0 })).toThrow('maxResponseBytes must be a positive whole number')
})

test('without getAuth, no auth endpoint is callable', async () => {
  for (const type of ['query', 'mutation'] as const) {
    const path = type === 'query' ? 'sallyport.queryEndpoint' : 'sallyport.mutateEndpoint'
    await expect(runner({}).run({ ...NAME, path, type })).rejects.toThrow(
      `The internal ${type} ${path} was not found. Check the router and getAuth of defineInternalFunctions`,
    )
  }
})

test("the types: a reference has a function's input, output, and kind", () => {
  const internal = functionsOf<typeof router>()
  const query: RunQuery = () => expect.fail()
  const mutate: RunMutation = () => expect.fail()
  const calls = () => [
    query(internal.tenant.name),
    mutate(internal.tenant.rename, { name: 'b' }),
    mutate(internal.tenant.rename, { name: 'b' }, { idempotencyKey: 'a' }),
    mutate(internal.tenant.clear),
    mutate(internal.tenant.clear, undefined, { idempotencyKey: 'a' }),
    // @ts-expect-error rename is not a query
    query(internal.tenant.rename, { name: 'b' }),
    // @ts-expect-error name is not a mutation
    mutate(internal.tenant.name),
    // @ts-expect-error the input is missing
    mutate(internal.tenant.rename),
    // @ts-expect-error the input has another type
    mutate(internal.tenant.rename, { name: 1 }),
    // @ts-expect-error the input has an unknown member
    mutate(internal.tenant.rename, { name: 'b', other: 1 }),
    // @ts-expect-error the function does not exist
    query(internal.tenant.none),
    // @ts-expect-error a router is not a function
    query(internal.tenant),
    // @ts-expect-error a query takes no idempotency key
    query(internal.tenant.name, undefined, { idempotencyKey: 'a' }),
  ]
  expect(calls).toThrow()
  const named = () => query(internal.tenant.name)
  expectTypeOf(named).returns.resolves.toEqualTypeOf<string>()
  const renamed = () => mutate(internal.tenant.rename, { name: 'b' })
  expectTypeOf(renamed).returns.resolves.toEqualTypeOf<{ at: string }>()
  expectTypeOf<ActingUser['session']>().toEqualTypeOf<Session | null>()
})

test('the types: createContext returns what the functions need, and not the acting user', () => {
  type CreateContext = InternalFunctionsOptions<typeof router>['createContext']
  expectTypeOf<() => { db: AuthDatabase; tenant: string }>().toExtend<CreateContext>()
  expectTypeOf<() => Promise<{ db: AuthDatabase; tenant: string }>>().toExtend<CreateContext>()
  expectTypeOf<() => { db: AuthDatabase }>().not.toExtend<CreateContext>()
  expectTypeOf<() => { tenant: string }>().not.toExtend<CreateContext>()
})
