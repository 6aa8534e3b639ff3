import type { AuthConfig } from '../config.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import type { FailureCode } from '../events/failure.ts'
import { reportFailure } from '../events/report-failure.ts'
import type { Identity } from '../jwt/identity.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import { commit } from '../lifecycle/commit.ts'
import { MAX_USER_AGENT_LENGTH } from '../lifecycle/create-session.ts'
import { validateLocked } from '../lifecycle/locked-sessions.ts'
import { forRequest } from '../lifecycle/observed-database.ts'
import { ConfigurationError, isAuthError } from '../protocol/errors.ts'
import { rateLimited } from '../rate-limit/rate-limited.ts'
import type { ProxyTrust } from '../request/address.ts'
import { hasSessionHeader, readBearer, readSessionCookie } from '../request/credentials.ts'
import type { OriginRequest } from '../request/origin.ts'
import type { Authenticated } from '../session/authenticate.ts'
import { hashSecret } from '../session/secret.ts'
import type { Session } from '../session/session.ts'
import type { AuthDefinition } from './definition.ts'
import type { AuthorizedContext, Endpoint, EndpointContext } from './endpoint.ts'

export interface EndpointServer {
  readonly definition: Pick<
    AuthDefinition,
    'config' | 'definePayload' | 'encryptionKeys' | 'plugins' | 'waitUntil'
  > & {
    readonly signingKeys: SigningKeys
  }
  readonly database: SessionDatabase
  readonly trustsProxy: ProxyTrust
}

export interface EndpointRequest extends OriginRequest {
  readonly address: string | null
  /** Replaces Step 1, for a call on behalf of an authorized one. */
  readonly identity?: Identity | undefined
}

export function createContext(
  endpoint: Pick<Endpoint, 'origin' | 'caller'> & { readonly path: string },
  request: EndpointRequest,
  { definition, database: shared }: EndpointServer,
): EndpointContext {
  const { config } = definition
  const { address, header } = request
  const userAgent = header('user-agent')?.slice(0, MAX_USER_AGENT_LENGTH) ?? null
  const database = forRequest(shared, { address, userAgent, actingSessionId: null })
  const sessionTransport = hasSessionHeader(header, config) ? 'header' : 'cookie'
  // Without an origin rule the response is public, so duplicate cookies must not fail it.
  const readsSession =
    endpoint.origin !== null && (sessionTransport === 'header' || !usesBearer(endpoint, request, config))
  const report = (error: unknown, code?: FailureCode) =>
    reportFailure(error, { code, path: endpoint.path, step: 'background' }, config)
  // Only an `AuthError` says what failed: a mail server can have the same error codes as a database.
  const reportLate = (error: unknown) =>
    report(error, isAuthError(error) ? undefined : 'AFTER_RESPONSE_FAILED')
  return {
    config,
    signingKeys: definition.signingKeys,
    definePayload: definition.definePayload,
    encryptionKeys: definition.encryptionKeys,
    waysIn: definition.plugins.flatMap(({ canSignIn = [] }) => canSignIn),
    secondFactors: definition.plugins.flatMap(({ secondFactor = [] }) => secondFactor),
    browsers: definition.plugins.flatMap(({ browsers = [] }) => browsers),
    database,
    request,
    address,
    sessionTransport,
    sessionCookie: readsSession ? readSessionCookie(header, config) : null,
    limit: createLimit(database, config, null),
    async giveBack(key, limit) {
      const give = async () => database.limits.giveBack?.(key, limit)
      await give().catch((error: unknown) => report(error))
    },
    change: (work) => commit(database, work),
    later(work) {
      const begun = new Promise<void>((resolve) => setImmediate(resolve)).then(work).catch(reportLate)
      const keep = async () => definition.waitUntil?.(begun)
      keep().catch(reportLate)
    },
  }
}

/**
 * Adds the caller to a context. Each change locks the session and checks it again: the caller may have been
 * signed out, banned, or demoted since.
 */
export function authorizedContext(
  context: EndpointContext,
  { identity, session }: Authenticated,
  check: (session: Session) => void = () => {},
): AuthorizedContext {
  const { config } = context
  const acting = { ...context.database.request, actingSessionId: identity.sessionId }
  const database = forRequest(context.database, acting)
  return {
    ...{ ...context, identity, session, database },
    limit: createLimit(database, config, identity.userId),
    change: (work) =>
      commit(database, async (trx, record) => {
        check(await validateLocked(identity, { trx, locks: database.locks, now: config.now }))
        return work(trx, record)
      }),
  }
}

/** Creates `limit`. Records one rejection per key and duration: a flood must not fill `sallyport.audit`. */
function createLimit(
  database: SessionDatabase,
  config: AuthConfig,
  userId: string | null,
): EndpointContext['limit'] {
  return async (key, limit) => {
    const [name = ''] = key.split(':')
    // With `NaN`, every attempt would be allowed.
    if (!(limit.points > 0 && limit.duration > 0))
      throw new ConfigurationError(`limit ${name}: points and duration must be positive numbers`)
    const retryAfterSeconds = await database.limits.consume(key, limit)
    if (retryAfterSeconds === null) return
    const error = rateLimited(name, retryAfterSeconds, config)
    const isFirst = (await database.limits.consume(`rejected:${key}`, { ...limit, points: 1 })) === null
    if (isFirst) {
      const rejection = { userId, limit: name, keyHash: await hashSecret(key), at: config.now() }
      await commit(database, async (_trx, record) => record({ type: 'rate-limit.rejected', ...rejection }))
    }
    throw error
  }
}

/** Returns whether a bearer token authenticates the call. Other sites can't send one: cookies are ignored. */
export function usesBearer(
  endpoint: Pick<Endpoint, 'caller'>,
  { header }: EndpointRequest,
  config: AuthConfig,
): boolean {
  return endpoint.caller !== 'anyone' && readBearer(header, config) !== null
}
