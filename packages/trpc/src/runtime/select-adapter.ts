import type { AuthDatabase, AuthStore } from '@sallyport/core'
import { ConfigurationError } from '@sallyport/core'
import type { AuthDefinition } from '@sallyport/core/auth'
import type { AuthContext } from '../server/context.ts'
import { storeOf } from '../server/store-of.ts'
import type { CallEndpoint } from './bound-api.ts'
import { createDirectAdapter } from './direct-adapter.ts'
import { httpAdapter } from './http-adapter.ts'
import { httpStore } from './http-store.ts'
import type { Runner } from './runner/runner.ts'
import type { RuntimeContext } from './runtime-context.ts'

/**
 * Picks the way to the endpoints by what the context has, so that no caller does (spec section 1): a context with a database gets the
 * direct adapter; any other goes through HTTP.
 *
 * @throws ConfigurationError `CONTEXT_UNCLEAR` or `CONTEXT_EMPTY` where the types were passed over
 */
export function createSelection(definition: () => AuthDefinition): (ctx: RuntimeContext) => CallEndpoint {
  const directAdapter = createDirectAdapter(definition)
  return (ctx) => {
    refuseUnclear(ctx)
    if (ctx.db !== undefined) return directAdapter(ctx)
    if (ctx.runQuery === undefined || ctx.runMutation === undefined) throw contextEmpty()
    return httpAdapter(ctx)
  }
}

/**
 * Where an action reads sessions and counts attempts: in the database that it is about to lose, else where its runner leads.
 *
 * @throws ConfigurationError likewise, or where the database carries no store
 */
export function selectStore(ctx: ContextMembers & AuthContext, runner: Runner): AuthStore {
  const { auth, db } = ctx
  refuseUnclear(ctx)
  return db === undefined ? httpStore(runner) : storeOf({ auth, db })
}

/** What the selection goes by; a member that is undefined is absent. */
interface ContextMembers {
  readonly db?: AuthDatabase | undefined
  readonly runQuery?: unknown
  readonly runMutation?: unknown
}

function refuseUnclear({ db, runQuery, runMutation }: ContextMembers): void {
  if (db === undefined || (runQuery === undefined && runMutation === undefined)) return
  throw new ConfigurationError(
    'The context has both db and runQuery or runMutation, so nobody can say which one counts: take one of them out',
    { code: 'CONTEXT_UNCLEAR' },
  )
}

function contextEmpty(): ConfigurationError {
  return new ConfigurationError(
    'The context has no database: add db, or runQuery and runMutation as bindRunner() makes them',
    { code: 'CONTEXT_EMPTY' },
  )
}
