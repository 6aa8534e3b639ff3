import type { AuthConfig } from '../config.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import type { Identity } from '../jwt/identity.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import { commit } from '../lifecycle/commit.ts'
import { MAX_USER_AGENT_LENGTH } from '../lifecycle/create-session.ts'
import { LOCK_TIMEOUT_MS, lockingAdapter } from '../lifecycle/locking-adapter.ts'
import { withOrigin } from '../lifecycle/observed-database.ts'
import type { ProxyTrust } from '../request/address.ts'
import { hasSessionHeader, readBearer, readSessionCookie } from '../request/credentials.ts'
import { checkOrigin, type OriginRequest } from '../request/origin.ts'
import { type Authenticated, authenticate, validateIdentity } from '../session/authenticate.ts'
import { denial } from '../session/report-denial.ts'
import { isFresh, type Session } from '../session/session.ts'
import { validateSession } from '../session/validate-session.ts'
import type { AuthDefinition } from './definition.ts'
import type { Endpoint, EndpointContext, EndpointResult } from './endpoint.ts'
import { limiter } from './limiter.ts'

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
  const origin = { ...context.database.origin, actingSessionId: admitted.identity.sessionId }
  const database = withOrigin(server.database, origin)
  const result = await endpoint.run(input, {
    ...context,
    ...admitted,
    database,
    limit: limiter({ database, config, userId: admitted.identity.userId }),
    change: (work) =>
      commit(database, async (trx, record) => {
        // Since the caller was let in they may have been signed out, banned or demoted.
        const patient = { now: config.now, lookupTimeoutMs: LOCK_TIMEOUT_MS }
        const session = await validateSession(
          admitted.identity,
          lockingAdapter(trx, server.database.columns),
          patient,
        )
        requireCaller(endpoint, session, server)
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
  { definition, database: shared, onError }: EndpointServer,
): EndpointContext {
  const { config, signingKeys, definePayload } = definition
  const userAgent = request.header('user-agent')?.slice(0, MAX_USER_AGENT_LENGTH) ?? null
  const database = withOrigin(shared, { address: request.address, userAgent, actingSessionId: null })
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
    limit: limiter({ database, config, userId: null }),
    async giveBack(key, limit) {
      try {
        await database.limits.giveBack?.(key, limit)
      } catch (error) {
        onError(error)
      }
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
  endpoint: Endpoint,
  request: EndpointRequest,
  server: EndpointServer,
): Promise<Authenticated | null> {
  const { caller, origin } = endpoint
  if (caller === 'anyone') return null
  const { config } = server.definition
  const sessions = server.database.sessions
  const { identity } = request
  const admitted =
    identity === undefined
      ? await authenticate(request, origin ?? 'mutation', { config, sessions })
      : { identity, session: await validateIdentity(identity, { config, sessions }) }
  requireCaller(endpoint, admitted.session, server)
  return admitted
}

/** @throws AuthError `ROLE_REQUIRED` or `SESSION_NOT_FRESH` */
function requireCaller(
  { caller, freshForSeconds }: Pick<Endpoint, 'caller' | 'freshForSeconds'>,
  session: Session,
  { definition: { config } }: EndpointServer,
): void {
  const isForAdmins = caller === 'admin' || caller === 'fresh-admin'
  if (isForAdmins && session.user.role !== 'admin') throw denial('ROLE_REQUIRED', session.id, config)
  const isForFresh = caller === 'fresh-user' || caller === 'fresh-admin'
  const freshness = { maxAgeSeconds: freshForSeconds ?? config.freshForSeconds, now: config.now() }
  if (isForFresh && !isFresh(session, freshness)) throw denial('SESSION_NOT_FRESH', session.id, config)
}
