import { staticJwks } from '@sallyport/core'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { createTestAuth, type TestAuth, type TestSession } from '@sallyport/core/testing'
import { type AuthContext, createAuthContext } from '@sallyport/trpc'
import {
  createAuthedAction,
  createAuthRuntime,
  createInternalHandler,
  defineInternalFunctions,
  functionsOf,
  httpRunner,
  localRunner,
  type Runner,
} from '@sallyport/trpc/action'
import { initTRPC } from '@trpc/server'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { insertUser } from '../../../core/test/support/insert-rows.ts'
import { outcomeOf } from '../support/outcome.ts'
import { browser } from '../support/visitor.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())

/** Signs up a new user without a password, since hashing one takes longer than everything else. */
async function signIn(): Promise<TestSession> {
  const userId = crypto.randomUUID()
  await insertUser(auth.db, userId)
  return auth.signIn({ userId })
}

const executed: string[] = []
beforeEach(() => {
  executed.length = 0
})

const t = initTRPC.context<{ db: TestAuth['db'] }>().create()
const internalRouter = t.router({
  read: t.procedure.query(() => executed.push('read')),
  write: t.procedure.mutation(() => executed.push('write')),
})
const internal = functionsOf<typeof internalRouter>()
const { getAuth } = createAuthRuntime(() => auth.definition)

const runners: Record<string, Runner> = {}
beforeAll(async () => {
  const { db, config } = auth
  const functions = defineInternalFunctions({
    router: internalRouter,
    createContext: () => ({ db }),
    config,
    getAuth,
  })
  const signingKeys = { keys: [await createSigningKey()] }
  const serviceJwks = staticJwks(parseSigningKeys(signingKeys).publicJwks)
  const handler = createInternalHandler(functions, { serviceJwks })
  runners['in this process'] = localRunner(functions)
  runners['over HTTP'] = httpRunner({
    url: 'http://localhost/internal',
    service: { name: 'edge', signingKeys },
    config,
    fetch: (url, init) => handler(new Request(url, init)),
  })
})

const edge = initTRPC
  .context<
    AuthContext & { db?: TestAuth['db'] | undefined; runner: Runner; meanwhile: () => Promise<void> }
  >()
  .create()
const action = createAuthedAction(edge.procedure, getAuth, ({ runner }) => runner)
const createCaller = edge.createCallerFactory(
  edge.router({
    read: action.query(async ({ ctx }) => {
      await ctx.meanwhile()
      return ctx.runQuery(internal.read)
    }),
    write: action.mutation(async ({ ctx }) => {
      await ctx.meanwhile()
      return ctx.runMutation(internal.write)
    }),
    /** Returns a stored result that needs no other call. */
    retry: action.mutation(async ({ ctx }) => {
      await ctx.runMutation(internal.write, undefined, { idempotencyKey: ctx.session.id })
      await ctx.meanwhile()
      return ctx.runMutation(internal.write, undefined, { idempotencyKey: ctx.session.id })
    }),
  }),
)

const ENDINGS = [
  { ending: 'is revoked', end: (session: TestSession) => auth.revoke(session), reason: 'SESSION_NOT_FOUND' },
  {
    ending: 'expires',
    end: (session: TestSession) => auth.expireSession(session),
    reason: 'SESSION_EXPIRED',
  },
  { ending: 'is banned', end: (session: TestSession) => auth.ban(session), reason: 'ACCOUNT_BANNED' },
  {
    ending: 'is deleted',
    end: ({ userId }: TestSession) => auth.db.deleteFrom('user').where('id', '=', userId).execute(),
    reason: 'SESSION_NOT_FOUND',
  },
] as const

describe.each([
  { place: 'beside the database', runner: 'in this process', hasDb: true },
  { place: 'beside the database, which it reaches over HTTP', runner: 'over HTTP', hasDb: true },
  { place: 'without a database', runner: 'over HTTP', hasDb: false },
])('an action $place', ({ runner, hasDb }) => {
  function callerOf(session: TestSession, meanwhile: () => Promise<unknown> = async () => {}) {
    return createCaller({
      ...createAuthContext(auth.config).headers(browser(session).headers),
      ...(hasDb && { db: auth.db }),
      runner: runners[runner] ?? { run: () => Promise.reject(new TypeError('No such runner')) },
      async meanwhile() {
        await meanwhile()
      },
    })
  }

  test('runs for a user with a valid session', async () => {
    const caller = callerOf(await signIn())
    await caller.read()
    await caller.write()
    expect(executed).toEqual(['read', 'write'])
  })

  test.each(ENDINGS)(
    'runs nothing if the user or session $ending before the call: $reason',
    async ({ end, reason }) => {
      const session = await signIn()
      await end(session)
      const caller = callerOf(session)
      for (const call of [caller.read, caller.write, caller.retry]) {
        const { rejection } = await outcomeOf(call())
        expect(rejection).toMatchObject({ httpStatus: statusOf(reason), auth: { reason } })
      }
      expect(executed).toEqual([])
    },
  )

  test.each(ENDINGS)(
    'runs nothing more if the user or session $ending meanwhile: $reason',
    async ({ end, reason }) => {
      for (const name of ['read', 'write'] as const) {
        const session = await signIn()
        const { rejection } = await outcomeOf(callerOf(session, () => Promise.resolve(end(session)))[name]())
        expect(rejection).toMatchObject({ httpStatus: statusOf(reason), auth: { reason } })
      }
      expect(executed).toEqual([])
    },
  )

  test.each(ENDINGS)(
    'returns no stored result if the user or session $ending meanwhile',
    async ({ end, reason }) => {
      const session = await signIn()
      const { rejection } = await outcomeOf(callerOf(session, () => Promise.resolve(end(session))).retry())
      expect(rejection).toMatchObject({ httpStatus: statusOf(reason), auth: { reason } })
      expect(executed).toEqual(['write'])
    },
  )
})

const statusOf = (reason: string) => (reason === 'ACCOUNT_BANNED' ? 403 : 401)
