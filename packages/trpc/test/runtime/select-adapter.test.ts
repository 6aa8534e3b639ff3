import { type ConfigurationErrorCode, withAuthStore } from '@sallyport/core'
import { createAuthContext, type StoreContext } from '@sallyport/trpc'
import { bindRunner, type FunctionContext, type RuntimeContext } from '@sallyport/trpc/action'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { selectStore } from '../../src/runtime/select-adapter.ts'
import { storeOf } from '../../src/server/get-session.ts'
import { openRuntime } from '../support/open-runtime.ts'
import { codeOf } from './code-of.ts'

const directory = temporaryDirectory()

const app = await openRuntime(directory)
beforeEach(() => app.reset())
afterAll(() => app.close())

const handle = () => createAuthContext(app.auth.config).headers({}, { method: 'POST' }).auth

/** Creates a context that the types would reject. */
const untyped = (members: object): RuntimeContext => Object.assign(Object.create(null), members)

type Members = 'db' | 'runQuery' | 'runMutation'

const CONTEXTS: { has: readonly Members[]; adapter: 'direct' | 'HTTP' | ConfigurationErrorCode }[] = [
  { has: ['db'], adapter: 'direct' },
  { has: ['runQuery', 'runMutation'], adapter: 'HTTP' },
  { has: [], adapter: 'CONTEXT_EMPTY' },
  { has: ['runQuery'], adapter: 'CONTEXT_EMPTY' },
  { has: ['runMutation'], adapter: 'CONTEXT_EMPTY' },
  { has: ['db', 'runQuery'], adapter: 'CONTEXT_UNCLEAR' },
  { has: ['db', 'runMutation'], adapter: 'CONTEXT_UNCLEAR' },
  { has: ['db', 'runQuery', 'runMutation'], adapter: 'CONTEXT_UNCLEAR' },
]

describe("getAuth selects the adapter by the context's members", () => {
  const all = (): Record<Members, unknown> => ({ db: app.db, ...bindRunner(app.runners.local) })

  describe.each(CONTEXTS)('$has: $adapter', ({ has, adapter }) => {
    test.each(['absent', 'undefined'])('with %s as the others', async (others) => {
      const members = Object.entries(all()).flatMap(([name, value]) => {
        if (has.some((given) => given === name)) return [[name, value] as const]
        return others === 'absent' ? [] : [[name, undefined] as const]
      })
      const ask = () => app.getAuth(untyped({ auth: handle(), ...Object.fromEntries(members) }))

      if (adapter.startsWith('CONTEXT')) {
        expect(await codeOf(ask)).toBe(adapter)
        return
      }
      await ask().api.readAsAnyone()
      expect(app.runs).toEqual(['readAsAnyone'])
      expect(app.calls).toEqual(adapter === 'direct' ? [] : ['sallyport.queryEndpoint'])
    })
  })
})

describe("a database that getAuth can't use", () => {
  test.each([
    { database: 'without a store', db: () => ({}), says: /withAuthStore\(db, store\)/ },
    {
      database: 'of another library, with sessions only',
      db() {
        const { sessions, revocations } = storeOf({ auth: handle(), db: app.db })
        return withAuthStore({}, { sessions, revocations })
      },
      says: /withAuthStore\(db, \{ \.\.\., database \}\)/,
    },
  ])('$database: a ConfigurationError with the fix', ({ db, says }) => {
    expect(() => app.getAuth(untyped({ auth: handle(), db: db() }))).toThrow(says)
  })
})

describe("an action's source of sessions", () => {
  test("is its context's database, if there is one", () => {
    const auth = handle()
    expect(selectStore({ auth, db: app.db }, app.runners.local)).toBe(storeOf({ auth, db: app.db }))
    expect(() => selectStore(untyped({ auth, db: {} }), app.runners.local)).toThrow(/withAuthStore/)
  })

  test('is its runner otherwise, with one store for all calls', async () => {
    const [first, second] = [handle(), handle()].map((auth) => selectStore({ auth }, app.runners.local))
    expect(first).toBe(second)
    expect(first).not.toBe(selectStore({ auth: handle() }, app.runners.HTTP))
    expect(await first?.sessions.findSession({ sessionId: 'none', userId: 'nobody' })).toBeNull()
    expect(app.calls).toEqual(['sallyport.findSession'])
  })

  test.each(['runQuery', 'runMutation'])('is ambiguous if the context has db and %s', async (name) => {
    const ctx = untyped({ auth: handle(), db: app.db, [name]: () => {} })
    expect(await codeOf(() => selectStore(ctx, app.runners.local))).toBe('CONTEXT_UNCLEAR')
  })
})

test('the types accept a context with a database or with both functions, and no other', () => {
  const ask = (_ctx: RuntimeContext) => {}
  const auth = handle()
  const functions: FunctionContext = bindRunner(app.runners.local)
  ask({ auth, db: app.db })
  ask({ auth, ...functions })
  // @ts-expect-error the database is missing
  ask({ auth })
  // @ts-expect-error the database is ambiguous
  ask({ auth, db: app.db, ...functions })
  // @ts-expect-error runMutation is missing
  ask({ auth, runQuery: functions.runQuery })
  // @ts-expect-error auth is missing
  ask({ db: app.db })
  expect(ask).toBeTypeOf('function')
})

test('the types: getSession and limits need a database or an action, because bindRunner alone has no store', () => {
  const read = (_ctx: StoreContext) => {}
  const auth = handle()
  const functions: FunctionContext = bindRunner(app.runners.local)
  read({ auth, db: app.db })
  read({ auth: Object.assign(auth, { signal: new AbortController().signal }), ...functions })
  // @ts-expect-error not behind the guard of an action
  read({ auth, ...functions })
  expect(read).toBeTypeOf('function')
})
