import { type AuthDatabase, type AuthStore, ConfigurationError } from '@sallyport/core'
import type { AuthDefinition, EndpointCaller, SessionDatabase } from '@sallyport/core/auth'
import { bindEndpoints } from '@sallyport/core/internal/auth'
import { authRequest } from '../server/auth-handle.ts'
import type { AuthContext, DatabaseContext } from '../server/context.ts'
import { storeOf } from '../server/get-session.ts'
import type { CallEndpoint } from './bound-api.ts'
import { httpAdapter, httpStore } from './http-adapter.ts'
import type { FunctionContext, Runner } from './runner/runner.ts'

/** The context of `getAuth`: with a database or with internal functions, never with both (spec section 1). */
export type RuntimeContext = AuthContext &
  (
    | { readonly db: AuthDatabase; readonly runQuery?: undefined; readonly runMutation?: undefined }
    | (FunctionContext & { readonly db?: undefined })
  )

/**
 * Selects the adapter by the members of the context, so no caller does (spec section 1): the direct adapter for one
 * with a database, the HTTP adapter for any other.
 *
 * @throws ConfigurationError `CONTEXT_UNCLEAR` or `CONTEXT_EMPTY`
 */
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

/**
 * Returns the store in which an action reads sessions and consumes rate limits: that of the context's database, or of
 * the runner.
 *
 * @throws ConfigurationError `CONTEXT_UNCLEAR`, or if the database has no store
 */
export function selectStore(ctx: ContextMembers & AuthContext, runner: Runner): AuthStore {
  const { auth, db } = ctx
  rejectUnclear(ctx)
  return db === undefined ? httpStore(runner) : storeOf({ auth, db })
}

/** An undefined member is absent. */
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

/** Calls endpoints on the database of the context. Binds the endpoints once per database. */
function createDirectAdapter(definition: AuthDefinition): (ctx: DatabaseContext) => CallEndpoint {
  const callers = new WeakMap<SessionDatabase, EndpointCaller>()
  return (ctx) => {
    const { database } = storeOf(ctx)
    if (database === undefined)
      throw new ConfigurationError(
        'getAuth: ctx.db carries sessions but not the database that they begin and end in: use the db of openSqlite() or openPostgres(), or withAuthStore(db, { ..., database })',
      )
    const call = callers.get(database) ?? bindEndpoints(definition, database)
    callers.set(database, call)
    return (name, _endpoint, input) => {
      const { request, remoteAddress, identity } = ctx.auth[authRequest]
      const { method, header } = request
      return call(name, input, {
        request: { method, headers: { get: header } },
        remoteAddress: remoteAddress ?? undefined,
        identity,
      })
    }
  }
}
