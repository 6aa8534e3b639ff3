import { ConfigurationError } from '@sallyport/core'
import type { AuthDefinition, EndpointCaller, SessionDatabase } from '@sallyport/core/auth'
import { bindEndpoints } from '@sallyport/core/internal/auth'
import type { DatabaseContext } from '../server/context.ts'
import { storeOf } from '../server/store-of.ts'
import type { CallEndpoint } from './bound-api.ts'
import { requestOf } from './request-of.ts'

/** Calls endpoints on the database of the context. Those of a database are bound to it once. */
export function createDirectAdapter(
  definition: () => AuthDefinition,
): (ctx: DatabaseContext) => CallEndpoint {
  const callers = new WeakMap<SessionDatabase, EndpointCaller>()
  return (ctx) => {
    const database = databaseOf(ctx)
    const call = callers.get(database) ?? bindEndpoints(definition(), database)
    callers.set(database, call)
    return (name, _endpoint, input) => call(name, input, requestOf(ctx))
  }
}

function databaseOf(ctx: DatabaseContext): SessionDatabase {
  const { database } = storeOf(ctx)
  if (database !== undefined) return database
  throw new ConfigurationError(
    'getAuth: ctx.db carries sessions but not the database that they begin and end in: use the db of openSqlite() or openPostgres(), or withAuthStore(db, { ..., database })',
  )
}
