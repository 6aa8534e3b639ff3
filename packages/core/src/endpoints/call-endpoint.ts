import type { AuthConfig } from '../config.ts'
import { isEndpointError } from '../protocol/endpoint-error.ts'
import { AuthError, isAuthError } from '../protocol/errors.ts'
import { checkOrigin } from '../request/origin.ts'
import { type Authenticated, authenticate, validateIdentity } from '../session/authenticate.ts'
import { isConflict } from '../session/conflict.ts'
import { proofError } from '../session/proof-error.ts'
import { denial } from '../session/report-denial.ts'
import type { Session } from '../session/session.ts'
import {
  authorizedContext,
  createContext,
  type EndpointRequest,
  type EndpointServer,
  usesBearer,
} from './create-context.ts'
import type { Endpoint, EndpointContext, EndpointResult } from './endpoint.ts'

/** Checks the origin, reads the input, authorizes the caller, and runs the endpoint. */
export async function callEndpoint(
  endpoint: Endpoint,
  request: EndpointRequest,
  readInput: () => unknown,
  server: EndpointServer,
): Promise<EndpointResult> {
  const { config } = server.definition
  const { origin } = endpoint
  if (origin !== null && !usesBearer(endpoint, request, config)) checkOrigin(request, origin, config)
  const context = createContext(endpoint, request, server)
  const input = await readInput()
  const authenticated = await authorize(endpoint, request, server)
  const check = (session: Session) => requireCaller(endpoint, session, config)
  const caller = authenticated === null ? context : authorizedContext(context, authenticated, check)
  return withTransport(context, await endpoint.run(input, caller).catch(toUnavailable))
}

/** A deadlock, such as with a migration of the app, aborted a statement that no transaction repeats. */
function toUnavailable(error: unknown): never {
  const isRejection = isAuthError(error) || isEndpointError(error)
  throw isRejection || !isConflict(error) ? error : new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
}

/** Drops the cookies for a caller with the session header: its browser's cookies are of another session. */
export function withTransport<Result extends EndpointResult>(
  { sessionTransport }: EndpointContext,
  result: Result,
): Result {
  return sessionTransport === 'header' ? { ...result, cookies: [] } : result
}

async function authorize(
  endpoint: Endpoint,
  request: EndpointRequest,
  server: EndpointServer,
): Promise<Authenticated | null> {
  if (endpoint.caller === 'anyone') return null
  const { config } = server.definition
  const steps = { config, sessions: server.database.sessions }
  const { identity } = request
  const authenticated =
    identity === undefined
      ? await authenticate(request, endpoint.origin ?? 'mutation', steps)
      : { identity, session: await validateIdentity(identity, steps) }
  requireCaller(endpoint, authenticated.session, config)
  return authenticated
}

/** @throws AuthError `ROLE_REQUIRED`, `SESSION_NOT_FRESH`, or `FACTOR_REQUIRED` */
function requireCaller(endpoint: Endpoint, session: Session, config: AuthConfig): void {
  const { caller, freshForSeconds: maxAgeSeconds = config.freshForSeconds, factor = null } = endpoint
  const isForAdmins = caller === 'admin' || caller === 'fresh-admin'
  if (isForAdmins && session.user.role !== 'admin') throw denial('ROLE_REQUIRED', session.id, { config })
  if (caller !== 'fresh-user' && caller !== 'fresh-admin') return
  const error = proofError(session, { factor, maxAgeSeconds }, config)
  if (error !== null) throw error
}
