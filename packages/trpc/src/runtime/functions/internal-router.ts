import type { AuthConfig, Identity, RateLimit, SessionKey, StoredSession } from '@sallyport/core'
import { AuthError, ConfigurationError, isAuthError, verifyJwt } from '@sallyport/core'
import {
  authStore,
  checkRateLimit,
  matchSessionCookie,
  readCredentials,
} from '@sallyport/core/internal/server'
import { type AnyTRPCRouter, initTRPC, TRPCError } from '@trpc/server'
import { type AuthHandle, authCall, authRequest, CallHandle } from '../../server/auth-handle.ts'
import { createAuthContext, type DatabaseContext } from '../../server/context.ts'
import { isObject } from '../call/envelope.ts'
import type { EndpointCall, EndpointResponse, SessionJson } from '../http-adapter.ts'

export type HasDatabase = Pick<DatabaseContext, 'db'>

export type EndpointsSource = (ctx: DatabaseContext) => { readonly api: object }

interface FunctionsContext extends HasDatabase {
  /** The acting user, after Step 2. */
  readonly identity: Identity | null
}

const BEFORE_ANY_EXPIRY = new Date(0)
const { procedure, router: createRouter } = initTRPC.context<FunctionsContext>().create()

/**
 * Creates the router of an app's internal functions and, at `sallyport`, of the functions that replace the
 * database in a process without one: Step 2, rate limits, and with `getAuth` the auth endpoints.
 */
export function createInternalRouter(
  appRouter: AnyTRPCRouter,
  { config, getAuth }: { config: AuthConfig; getAuth: EndpointsSource | undefined },
): AnyTRPCRouter {
  rejectUnusable(appRouter)
  const contexts = createAuthContext(config)

  /** Calls an endpoint with the user's credentials, so it makes the same checks as for their request. */
  async function callEndpoint(
    { name, input, request: { method, headers, remoteAddress } }: EndpointCall,
    type: 'query' | 'mutation',
    { db, identity }: FunctionsContext,
  ): Promise<EndpointResponse> {
    const { auth: handle } = contexts.http({
      req: { method, headers },
      remoteAddress: remoteAddress ?? undefined,
      info: { type, accept: null },
    })
    const known = identity !== null && (await provesActor(identity, handle)) ? { identity } : {}
    // The other process has checked whether a GET may write. Here it may be the method of an upgrade.
    const auth = new CallHandle(handle[authRequest], { kind: handle[authCall].kind, ...known, isGet: false })
    const endpoint = methodOf(getAuth?.({ auth, db }).api ?? {}, name)
    if (endpoint === null)
      throw new TRPCError({ code: 'BAD_REQUEST', message: `auth.api.${name} was not found` })
    const result = await endpoint(input)
    if (!isObject(result)) throw new TypeError('An endpoint did not return an object')
    // `Headers` would become an empty object in JSON.
    const { headers: sent, ...body } = result
    return sent instanceof Headers ? { body, cookies: sent.getSetCookie() } : { body: result }
  }

  /**
   * Returns whether the credentials include a JWT of the acting user's session. It may have expired, because
   * the identity of a WebSocket outlives its JWT. Without one, the endpoint requires a valid JWT: a service
   * key alone must not open an endpoint for a user.
   */
  async function provesActor({ userId, sessionId, version }: Identity, handle: AuthHandle): Promise<boolean> {
    const proof = await readProof(handle).catch(() => null)
    // The endpoint rejects them with the reason.
    if (proof === null) return false
    const { jwt, isOfCookie } = proof
    const isSameUser = jwt.userId === userId && jwt.version === version
    if (isSameUser && jwt.sessionId === sessionId && isOfCookie) return true
    throw new AuthError('TOKEN_INVALID')
  }

  async function readProof(handle: AuthHandle) {
    const credentials = readCredentials(handle[authRequest].request.header, config)
    if (credentials.token === null) return null
    const jwt = await verifyJwt(credentials.token, config, BEFORE_ANY_EXPIRY)
    return { jwt, isOfCookie: await matchSessionCookie(jwt, credentials, config) }
  }

  const endpointProcedure = procedure.input(parserOf(isEndpointCall))
  const sallyport = {
    findSession: procedure.input(parserOf(isSessionKey)).query(({ ctx, input }) => findSession(input, ctx)),
    findSessions: procedure
      .input(parserOf(isSessionKeys))
      .query(({ ctx, input }) => Promise.all(input.map((key) => findSession(key, ctx)))),
    consumeLimit: procedure.input(parserOf(isLimitInput)).mutation(({ ctx, input: { key, limit } }) => {
      const { limits } = ctx.db[authStore]
      if (limits === undefined) throw new AuthError('SESSIONS_UNAVAILABLE')
      return limits.consume(key, checkRateLimit('limit', limit))
    }),
    ...(getAuth !== undefined && {
      queryEndpoint: endpointProcedure.query(({ ctx, input }) => callEndpoint(input, 'query', ctx)),
      mutateEndpoint: endpointProcedure.mutation(({ ctx, input }) => callEndpoint(input, 'mutation', ctx)),
    }),
  }
  return createRouter({ ...appRouter._def.record, sallyport })
}

async function findSession(key: SessionKey, { db }: FunctionsContext): Promise<SessionJson | null> {
  try {
    const session = await db[authStore].sessions.findSession(key)
    return session === null ? null : toSessionJson(session)
  } catch (cause) {
    throw isAuthError(cause) ? cause : new AuthError('SESSIONS_UNAVAILABLE', { cause })
  }
}

function rejectUnusable({ _def: { lazy, procedures } }: AnyTRPCRouter): void {
  const lazyNames = Object.keys(lazy).join(', ')
  if (lazyNames !== '')
    throw new ConfigurationError(
      `internal functions: ${lazyNames} is loaded lazily. Import the router instead`,
    )
  for (const [path, { _def }] of Object.entries<{ _def: { type: string } }>(procedures)) {
    if (/^sallyport(\.|$)/.test(path))
      throw new ConfigurationError(`internal functions: ${path} has a reserved name. Rename it`)
    if (_def.type === 'subscription')
      throw new ConfigurationError(`internal functions: ${path} is a subscription. Use a query or a mutation`)
  }
}

/** Converts a session to JSON, with the ban that Step 2 in the other process needs. */
export function toSessionJson({ expiresAt, ban, ...session }: StoredSession): SessionJson {
  // Never null: in `expiresAt`, an unreadable date means expired. It never ends a ban.
  const toText = (date: Date) => (Number.isNaN(date.getTime()) ? '' : date.toISOString())
  return { ...session, expiresAt: toText(expiresAt), ban: ban && { until: ban.until && toText(ban.until) } }
}

/** Returns a method only if it's enumerable: `toString` and other members of objects aren't endpoints. */
function methodOf(api: object, name: string): ((input: object) => Promise<unknown>) | null {
  for (const key in api) {
    if (key !== name) continue
    const method: unknown = Reflect.get(api, key)
    if (typeof method === 'function') return async (input) => method(input)
  }
  return null
}

function parserOf<Input>(isInput: (input: unknown) => input is Input): (input: unknown) => Input {
  return (input) => {
    if (isInput(input)) return input
    throw new TypeError('The input is invalid. Run the same version in both processes')
  }
}

function isSessionKey(input: unknown): input is SessionKey {
  return isObject(input) && typeof input.sessionId === 'string' && typeof input.userId === 'string'
}

function isSessionKeys(input: unknown): input is readonly SessionKey[] {
  return Array.isArray(input) && input.every(isSessionKey)
}

function isLimitInput(input: unknown): input is { readonly key: string; readonly limit: RateLimit } {
  if (!isObject(input) || typeof input.key !== 'string' || !isObject(input.limit)) return false
  // Only the counters of `rateLimit`: a service key must not be able to lock sign-ins.
  if (!/^procedure:.{1,1000}$/su.test(input.key)) return false
  return typeof input.limit.points === 'number' && typeof input.limit.duration === 'number'
}

function isEndpointCall(input: unknown): input is EndpointCall {
  if (!isObject(input) || typeof input.name !== 'string' || !isObject(input.input)) return false
  const { request } = input
  return (
    isObject(request) &&
    typeof request.method === 'string' &&
    isObject(request.headers) &&
    Object.values(request.headers).every((value) => typeof value === 'string') &&
    (request.remoteAddress === null || typeof request.remoteAddress === 'string')
  )
}
