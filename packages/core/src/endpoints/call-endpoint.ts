import type { ProxyTrust } from '../address.ts'
import { type Authenticated, authenticate, validateIdentity } from '../authenticate.ts'
import type { AuthConfig } from '../config.ts'
import { hasSessionHeader, readBearer, readSessionCookie } from '../credentials.ts'
import type { AuthDefinition } from '../definition.ts'
import { AuthError } from '../errors.ts'
import { commit } from '../events/commit.ts'
import { denial } from '../events/report-denial.ts'
import type { Identity } from '../jwt/identity.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import { checkOrigin, type OriginRequest } from '../origin.ts'
import { LOCK_TIMEOUT_MS, lockingAdapter } from '../session/locking-adapter.ts'
import { isFresh, type Session } from '../session/session.ts'
import type { SessionDatabase } from '../session/session-database.ts'
import { validateSession } from '../session/validate-session.ts'
import type { Caller, Endpoint, EndpointContext, EndpointResult } from './endpoint.ts'

/** What the endpoints of a server share. */
export interface EndpointServer {
  readonly definition: Pick<AuthDefinition, 'config' | 'definePayload'> & {
    readonly signingKeys: SigningKeys
  }
  readonly database: SessionDatabase
  readonly trustsProxy: ProxyTrust
  readonly onError: (error: unknown) => void
}

/** A request as the endpoints see it. */
export interface EndpointRequest extends OriginRequest {
  /** The address of the client; null where nobody said. */
  readonly address: string | null
  /** Whom Step 1 has proved already, where the call is made for a request that was let in; never read from the request. */
  readonly identity?: Identity | undefined
}

/**
 * The way of every call of an endpoint, over HTTP and as a method of `auth.api`: the origin may use cookies here, the caller is one who
 * may call it, the input parses, and then the work is done.
 *
 * @param readInput called once the origin has been checked
 * @throws AuthError or EndpointError
 */
export async function callEndpoint(
  endpoint: Endpoint,
  request: EndpointRequest,
  readInput: () => unknown,
  server: EndpointServer,
): Promise<EndpointResult> {
  const { config } = server.definition
  if (endpoint.origin !== null && !bringsToken(endpoint, request, config))
    checkOrigin(request, endpoint.origin, config)
  const context = createContext(endpoint, request, server)
  const input = await readInput()
  const admitted = await admit(endpoint, request, server)
  if (admitted === null) return answerTo(context, await endpoint.run(input, context))
  const result = await endpoint.run(input, {
    ...context,
    ...admitted,
    change: (work) =>
      commit(server.database, async (trx, record) => {
        // Since the caller was let in they may have been signed out, banned or demoted.
        const patient = { now: config.now, lookupTimeoutMs: LOCK_TIMEOUT_MS }
        const session = await validateSession(
          admitted.identity,
          lockingAdapter(trx, server.database.columns),
          patient,
        )
        requireCaller(endpoint.caller, session, server)
        return work(trx, record)
      }),
  })
  return answerTo(context, result)
}

/** Whoever sends the session header gets no cookie: those of their browser, if it has any, are of another session. */
export function answerTo<Result extends EndpointResult>(
  { sessionTransport }: EndpointContext,
  result: Result,
): Result {
  return sessionTransport === 'header' ? { ...result, cookies: [] } : result
}

/** What an endpoint may use on behalf of a request. */
export function createContext(
  endpoint: Pick<Endpoint, 'origin' | 'caller'>,
  request: EndpointRequest,
  { definition, database, onError }: EndpointServer,
): EndpointContext {
  const { config, signingKeys, definePayload } = definition
  const sessionTransport = hasSessionHeader(request.header, config) ? 'header' : 'cookie'
  // What is the same for everyone has no use for cookies, so that two of them are no matter there.
  const readsSession =
    endpoint.origin !== null && (sessionTransport === 'header' || !bringsToken(endpoint, request, config))
  return {
    config,
    signingKeys,
    definePayload,
    database,
    request,
    address: request.address,
    sessionTransport,
    sessionCookie: readsSession ? readSessionCookie(request.header, config) : null,
    async limit(key, limit) {
      const retryAfterSeconds = await database.limits.consume(key, limit)
      if (retryAfterSeconds !== null) throw new AuthError('RATE_LIMITED', { retryAfterSeconds })
    },
    change: (work) => commit(database, work),
    later(work) {
      const begin = async () => work()
      setImmediate(() => void begin().catch(onError))
    },
  }
}

/**
 * Whether the caller has to be admitted, and comes with a bearer token, which no other site can send: then the cookies count for nothing.
 * Where anyone may call, that token does not say who calls.
 */
function bringsToken(
  { caller }: Pick<Endpoint, 'caller'>,
  { header }: EndpointRequest,
  config: AuthConfig,
): boolean {
  return caller !== 'anyone' && readBearer(header, config) !== null
}

async function admit(
  { caller, origin }: Endpoint,
  request: EndpointRequest,
  server: EndpointServer,
): Promise<Authenticated | null> {
  if (caller === 'anyone') return null
  const { config } = server.definition
  const adapter = server.database.sessions
  const { identity } = request
  const admitted =
    identity === undefined
      ? await authenticate(request, origin ?? 'mutation', { config, adapter })
      : { identity, session: await validateIdentity(identity, { config, adapter }) }
  requireCaller(caller, admitted.session, server)
  return admitted
}

/** @throws AuthError `ROLE_REQUIRED` or `SESSION_NOT_FRESH` */
function requireCaller(caller: Caller, session: Session, { definition: { config } }: EndpointServer): void {
  const freshness = { maxAgeSeconds: config.freshForSeconds, now: config.now() }
  if (caller === 'admin' && session.user.role !== 'admin') throw denial('ROLE_REQUIRED', session.id, config)
  if (caller === 'fresh-user' && !isFresh(session, freshness))
    throw denial('SESSION_NOT_FRESH', session.id, config)
}
