import { ConfigurationError } from '@sallyport/core'
import type { AuthDefinition, EndpointCaller, SessionDatabase } from '@sallyport/core/auth'
import { bindEndpoints } from '@sallyport/core/internal/auth'
import { authRequest } from '../server/auth-handle.ts'
import type { AuthContext, DatabaseContext } from '../server/context.ts'
import { storeOf } from '../server/get-session.ts'
import type { CallEndpoint } from './bound-api.ts'

/** Calls endpoints on the database of the context. Binds the endpoints once per database. */
export function createDirectAdapter(
  definition: () => AuthDefinition,
): (ctx: DatabaseContext) => CallEndpoint {
  const callers = new WeakMap<SessionDatabase, EndpointCaller>()
  return (ctx) => {
    const { database } = storeOf(ctx)
    if (database === undefined) {
      throw new ConfigurationError(
        'getAuth: ctx.db carries sessions but not the database that they begin and end in: use the db of openSqlite() or openPostgres(), or withAuthStore(db, { ..., database })',
      )
    }
    const call = callers.get(database) ?? bindEndpoints(definition(), database)
    callers.set(database, call)
    return (name, _endpoint, input) => call(name, input, requestOf(ctx))
  }
}

function requestOf({ auth }: AuthContext): Parameters<EndpointCaller>[2] {
  const { request, remoteAddress, identity } = auth[authRequest]
  const { method, header } = request
  return {
    request: { method, headers: { get: header } },
    remoteAddress: remoteAddress ?? undefined,
    identity,
  }
}
