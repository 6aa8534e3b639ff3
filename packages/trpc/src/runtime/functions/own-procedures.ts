import {
  type AuthConfig,
  type AuthDatabase,
  AuthError,
  authStore,
  checkRateLimit,
  type Identity,
  isAuthError,
  readCredentials,
  verifyJwt,
} from '@sallyport/core'
import { TRPCError } from '@trpc/server'
import { type AuthHandle, authRequest } from '../../server/auth-handle.ts'
import { type AuthContext, createAuthContext } from '../../server/context.ts'
import type { CallBody } from '../call/call-body.ts'
import { isObject } from '../call/is-object.ts'
import {
  CALL_ENDPOINT,
  CONSUME_LIMIT,
  type ConsumeLimitInput,
  type EndpointAnswer,
  type EndpointCall,
  FIND_SESSION,
  type FindSessionInput,
  isEndpointCall,
  isLimitInput,
  isSessionKey,
} from '../call/reserved-functions.ts'
import { type SessionJson, toSessionJson } from '../call/session-json.ts'
import type { FunctionType } from '../runner/runner.ts'

/** What internal functions work on. */
export interface HasDatabase {
  readonly db: AuthDatabase
}

/** `getAuth`, as far as it is needed here. */
export type EndpointsSource = (ctx: AuthContext & HasDatabase) => { readonly api: object }

/** The internal functions of ours. */
export interface OwnFunctions {
  has(path: string, type: FunctionType): boolean
  run(call: CallBody, ctx: OwnContext): Promise<unknown>
}

/** Where the database is, and who acts. */
export interface OwnContext extends HasDatabase {
  /** Proved where the call comes from, and by now let in by Step 2. Null is nobody. */
  readonly identity: Identity | null
}

const BEFORE_ANY_EXPIRY = new Date(0)

/** What stands for the database in a process that has none: Step 2, the auth endpoints, and the counters of rate limits. */
export function createOwnFunctions({
  config,
  getAuth,
}: {
  config: AuthConfig
  getAuth: EndpointsSource | undefined
}): OwnFunctions {
  const contexts = createAuthContext(config)
  const types = new Map<string, readonly FunctionType[]>([
    [FIND_SESSION, ['query']],
    [CONSUME_LIMIT, ['mutation']],
    [CALL_ENDPOINT, getAuth === undefined ? [] : ['query', 'mutation']],
  ])

  /** With the credentials of the user, so that the endpoint makes the checks that it makes for a request of theirs. */
  async function callEndpoint(
    { name, input, request }: EndpointCall,
    type: FunctionType,
    { db, identity }: OwnContext,
  ): Promise<EndpointAnswer> {
    const { method, headers, remoteAddress } = request
    const { auth: handle } = contexts.http({
      req: { method, headers },
      remoteAddress: remoteAddress ?? undefined,
      info: { type, accept: null },
    })
    const isTheirs = identity !== null && (await isProved(identity, handle))
    const known = isTheirs ? { identity } : {}
    // Whether a write may come by GET was asked where the request came in; here it may be the method of an upgrade.
    const auth = { ...handle, [authRequest]: { ...handle[authRequest], ...known, isGet: false } }
    const api = getAuth?.({ auth, db }).api ?? {}
    const endpoint = methodOf(api, name)
    if (endpoint === null) throw invalid('There is no such endpoint')
    return toAnswer(await endpoint(input))
  }

  /**
   * Whether the JWT among the credentials is one of the acting user's session, however long ago it expired: on a WebSocket the identity
   * outlives it. Else the endpoint asks for a valid one, so that a key of a service alone opens no endpoint for users.
   */
  async function isProved(identity: Identity, handle: AuthHandle): Promise<boolean> {
    const { userId, sessionId, version } = identity
    const proved = await readProof(handle).catch(() => null)
    // The endpoint says what is wrong with them.
    if (proved === null) return false
    const isSameUser = proved.userId === userId && proved.version === version
    if (isSameUser && proved.sessionIds.every((id) => id === sessionId)) return true
    throw new AuthError('TOKEN_INVALID')
  }

  /** Whom the credentials name, by a JWT of ours that may have expired, and by the session cookie beside it. */
  async function readProof(
    handle: AuthHandle,
  ): Promise<(Pick<Identity, 'userId' | 'version'> & { readonly sessionIds: readonly string[] }) | null> {
    const { token, sessionCookie } = readCredentials(handle[authRequest].request.header, config)
    if (token === null) return null
    const { userId, sessionId, version } = await verifyJwt(token, config, BEFORE_ANY_EXPIRY)
    const sessionIds = sessionCookie === null ? [sessionId] : [sessionId, sessionCookie.sessionId]
    return { userId, version, sessionIds }
  }

  return {
    has: (path, type) => types.get(path)?.includes(type) ?? false,
    async run({ path, type, input }, context) {
      switch (path) {
        case FIND_SESSION:
          return findSession(parse(input, isSessionKey), context)
        case CONSUME_LIMIT:
          return consumeLimit(parse(input, isLimitInput), context)
        default:
          return callEndpoint(parse(input, isEndpointCall), type, context)
      }
    },
  }
}

async function findSession(key: FindSessionInput, { db }: HasDatabase): Promise<SessionJson | null> {
  try {
    const session = await db[authStore].sessions.findSession(key)
    return session === null ? null : toSessionJson(session)
  } catch (cause) {
    throw isAuthError(cause) ? cause : new AuthError('SESSIONS_UNAVAILABLE', { cause })
  }
}

async function consumeLimit({ key, limit }: ConsumeLimitInput, { db }: HasDatabase): Promise<number | null> {
  const { limits } = db[authStore]
  if (limits === undefined) throw new AuthError('SESSIONS_UNAVAILABLE')
  return limits.consume(key, checkRateLimit('limit', limit))
}

/** Only the endpoints themselves: whatever else an object has is no method of theirs. */
function methodOf(api: object, name: string): ((input: object) => Promise<unknown>) | null {
  for (const key in api) {
    if (key !== name) continue
    const method: unknown = Reflect.get(api, key)
    if (typeof method === 'function') return async (input) => method(input)
  }
  return null
}

/** `Headers` would cross as an empty object. */
function toAnswer(result: unknown): EndpointAnswer {
  if (!isObject(result)) throw new TypeError('An endpoint answered with no object')
  const { headers, ...body } = result
  return headers instanceof Headers ? { body, cookies: headers.getSetCookie() } : { body: result }
}

function parse<Input>(input: unknown, isInput: (input: unknown) => input is Input): Input {
  if (isInput(input)) return input
  throw invalid('The input is not valid')
}

function invalid(message: string): TRPCError {
  return new TRPCError({ code: 'BAD_REQUEST', message })
}
