import { type AuthDatabase, type AuthStore, ConfigurationError } from '@sallyport/core'
import type { AuthDefinition, EndpointCaller, SessionDatabase } from '@sallyport/core/auth'
import { bindEndpoints } from '@sallyport/core/internal/auth'
import { authCall, authRequest } from '../server/auth-handle.ts'
import type { AuthContext, DatabaseContext } from '../server/context.ts'
import { storeOf } from '../server/get-session.ts'
import { type CallEndpoint, httpAdapter, httpStore } from './http-adapter.ts'
import type { FunctionContext, Runner } from './runner/runner.ts'

/** The context of `getAuth` (`docs/actions.md`): with a database or with internal functions, never both. */
export type RuntimeContext = AuthContext &
  (
    | { readonly db: AuthDatabase; readonly runQuery?: undefined; readonly runMutation?: undefined }
    | (FunctionContext & { readonly db?: undefined })
  )

/** Selects the adapter by the members of the context (spec section 1). */
export function createSelection(definition: AuthDefinition): (ctx: RuntimeContext) => CallEndpoint {
  const directAdapter = createDirectAdapter(definition)
  return (ctx) => {
    rejectUnclear(ctx)
    if (ctx.db !== undefined) return directAdapter(ctx)
    if (ctx.runQuery !== undefined && ctx.runMutation !== undefined) return httpAdapter(ctx)
    throw new ConfigurationError(
      'The context has no database: add db, or runQuery and runMutation as bindRunner() makes them',
      { code: 'CONTEXT_EMPTY' },
    )
  }
}

/** Returns the store of an action, for sessions and rate limits: the database's or the runner's. */
export function selectStore(ctx: ContextMembers & AuthContext, runner: Runner): AuthStore {
  const { auth, db } = ctx
  rejectUnclear(ctx)
  return db === undefined ? httpStore(runner, auth[authRequest].config) : storeOf({ auth, db })
}

interface ContextMembers {
  readonly db?: AuthDatabase | undefined
  readonly runQuery?: unknown
  readonly runMutation?: unknown
}

function rejectUnclear({ db, runQuery, runMutation }: ContextMembers): void {
  if (db === undefined || (runQuery === undefined && runMutation === undefined)) return
  throw new ConfigurationError(
    'The context has both db and runQuery or runMutation, so it is unclear which one to use: remove one of them',
    { code: 'CONTEXT_UNCLEAR' },
  )
}

/** Creates the adapter that calls endpoints on the database of the context, bound once per database. */
function createDirectAdapter(definition: AuthDefinition): (ctx: DatabaseContext) => CallEndpoint {
  const callers = new WeakMap<SessionDatabase, EndpointCaller>()
  return (ctx) => {
    const { database } = storeOf(ctx)
    if (database === undefined)
      throw new ConfigurationError(
        'getAuth: the auth store of ctx.db has no database to write to: use the db of openSqlite() or ' +
          'openPostgres(), or withAuthStore(db, { ..., database })',
      )
    const call = callers.get(database) ?? bindEndpoints(definition, database)
    callers.set(database, call)
    return (name, _endpoint, input) => {
      const { request, remoteAddress } = ctx.auth[authRequest]
      const { method, header } = request
      return call(name, input, {
        request: { method, headers: { get: header } },
        remoteAddress: remoteAddress ?? undefined,
        identity: ctx.auth[authCall].identity,
      })
    }
  }
}
