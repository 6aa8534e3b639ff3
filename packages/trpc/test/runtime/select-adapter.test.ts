import { type ConfigurationErrorCode, isConfigurationError, withAuthStore } from '@sallyport/core'
import { createAuthContext } from '@sallyport/trpc'
import { bindRunner, type FunctionContext, type RuntimeContext } from '@sallyport/trpc/action'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { selectStore } from '../../src/runtime/select-adapter.ts'
import { storeOf } from '../../src/server/get-session.ts'
import { openRuntime, type RuntimeApp } from '../support/open-runtime.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()

let app: RuntimeApp
beforeAll(async () => {
  app = await openRuntime(directory)
})
beforeEach(() => app.reset())
afterAll(() => app.close())

const handle = () => createAuthContext(app.auth.config).headers({}, { method: 'POST' }).auth

/** A context that the types would reject. */
const untyped = (members: object): RuntimeContext => Object.assign(Object.create(null), members)

/** The code of what is thrown. */
function codeOf(run: () => unknown): ConfigurationErrorCode | null | 'no error' {
  try {
    run()
    return 'no error'
  } catch (error) {
    if (!isConfigurationError(error)) throw error
    return error.code
  }
}

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

describe('getAuth picks the adapter by what the context has, and no caller does', () => {
  const all = (): Record<Members, unknown> => ({ db: app.db, ...bindRunner(app.runners.local) })

  describe.each(CONTEXTS)('$has: $adapter', ({ has, adapter }) => {
    test.each(['absent', 'undefined'])('where the others are %s', async (others) => {
      const members = Object.entries(all()).flatMap(([name, value]) => {
        if (has.some((given) => given === name)) return [[name, value] as const]
        return others === 'absent' ? [] : [[name, undefined] as const]
      })
      const ask = () => app.getAuth(untyped({ auth: handle(), ...Object.fromEntries(members) }))

      if (adapter.startsWith('CONTEXT')) {
        expect(codeOf(ask)).toBe(adapter)
        return
      }
      await ask().api.readAsAnyone()
      expect(app.runs).toEqual(['readAsAnyone'])
      expect(app.calls).toEqual(adapter === 'direct' ? [] : ['sallyport.queryEndpoint'])
    })
  })
})

describe('a database that getAuth cannot use', () => {
  test.each([
    { database: 'one that carries no store', db: () => ({}), says: /withAuthStore\(db, store\)/ },
    {
      database: 'one of another library, with sessions alone',
      db() {
        const { sessions, revocations } = storeOf({ auth: handle(), db: app.db })
        return withAuthStore({}, { sessions, revocations })
      },
      says: /withAuthStore\(db, \{ \.\.\., database \}\)/,
    },
  ])('$database: a ConfigurationError that says what to do', ({ db, says }) => {
    expect(() => app.getAuth(untyped({ auth: handle(), db: db() }))).toThrow(says)
  })
})

describe('where an action reads sessions', () => {
  test('is the database of its context, where it has one', () => {
    const auth = handle()
    expect(selectStore({ auth, db: app.db }, app.runners.local)).toBe(storeOf({ auth, db: app.db }))
    expect(() => selectStore(untyped({ auth, db: {} }), app.runners.local)).toThrow(/withAuthStore/)
  })

  test('is its runner, where it has none: one store for all calls', async () => {
    const [first, second] = [handle(), handle()].map((auth) => selectStore({ auth }, app.runners.local))
    expect(first).toBe(second)
    expect(first).not.toBe(selectStore({ auth: handle() }, app.runners.HTTP))
    expect(await first?.sessions.findSession({ sessionId: 'none', userId: 'nobody' })).toBeNull()
    expect(app.calls).toEqual(['sallyport.findSession'])
  })

  test.each(['runQuery', 'runMutation'])('cannot be told where the context has db and %s', (name) => {
    const ctx = untyped({ auth: handle(), db: app.db, [name]: () => {} })
    expect(codeOf(() => selectStore(ctx, app.runners.local))).toBe('CONTEXT_UNCLEAR')
  })
})

test('the types take a context with a database or with both functions, and no other', () => {
  const ask = (_ctx: RuntimeContext) => {}
  const auth = handle()
  const functions: FunctionContext = bindRunner(app.runners.local)
  ask({ auth, db: app.db })
  ask({ auth, ...functions })
  // @ts-expect-error nothing leads to a database
  ask({ auth })
  // @ts-expect-error nobody can say which one counts
  ask({ auth, db: app.db, ...functions })
  // @ts-expect-error a mutation would have nowhere to go
  ask({ auth, runQuery: functions.runQuery })
  // @ts-expect-error nobody asks
  ask({ db: app.db })
  expect(ask).toBeTypeOf('function')
})
