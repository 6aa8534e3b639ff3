import { ConfigurationError, isAuthError } from '@sallyport/core'
import {
  BodyTooLargeError,
  digestBody,
  keySetsOf,
  keysVersion,
  readBytes,
  rejectSharedKeys,
  reportFailure,
  type ServiceClaims,
  type ServiceKeys,
  serviceAudience,
  verifyServiceToken,
} from '@sallyport/core/internal/server'
import { TRPCError } from '@trpc/server'
import { getHTTPStatusCode } from '@trpc/server/http'
import { type CallLimits, checkLimits, limitCalls, startDeadline } from '../call/call-limits.ts'
import { CALL_REJECTIONS, CallRejection, isCallRejection } from '../call/call-rejection.ts'
import { encodeError } from '../call/envelope.ts'
import type { InternalFunctions } from './internal-functions.ts'

export interface InternalHandlerOptions extends Omit<CallLimits, 'maxResponseBytes'> {
  /**
   * The public keys of the services. With one set, `staticJwks(env.SERVICE_JWKS, { name: 'SERVICE_JWKS' })`,
   * each service states its name. With one per name, `{ edge: staticJwks(...), ... }`, it can't use the
   * name of another. No key may be in two sets, or sign JWTs of users.
   */
  readonly serviceJwks: ServiceKeys
}

/** Browsers send at least one of these with every request that a page of another site can cause. */
const BROWSER_HEADERS = ['origin', 'cookie', 'sec-fetch-site']

/**
 * Creates the handler that serves internal functions to other processes. It never rejects. Mount it on a
 * listener that users can't reach: a unix socket for this machine, an https address for the edge.
 *
 * @example
 * const serviceJwks = staticJwks(process.env.SERVICE_JWKS, { name: 'SERVICE_JWKS' })
 * const handler = createInternalHandler(internalFunctions, { serviceJwks })
 * createServer(getRequestListener(handler)).listen('/run/app/internal.sock')
 * @throws ConfigurationError if a service key also signs JWTs of users, or a limit is invalid
 */
export function createInternalHandler(
  functions: InternalFunctions,
  { serviceJwks, ...limits }: InternalHandlerOptions,
): (request: Request) => Promise<Response> {
  const { config } = functions
  const { timeoutMs, maxConcurrent, maxBodyBytes } = checkLimits(limits)
  const runLimited = limitCalls(maxConcurrent)
  const audience = serviceAudience(config)
  const consume = createTokenMemory(config.now)
  const keySets = keySetsOf(serviceJwks)
  let checkedVersions = ''
  checkKeys()

  /** Runs again when a key set changes, because a fetched one is empty at first. */
  function checkKeys(): void {
    const versions = [...keySets.map(({ version }) => version), keysVersion(config)].join(' ')
    if (versions === checkedVersions) return
    for (const keySet of keySets) rejectSharedKeys(keySet, config)
    const materials = keySets.flatMap((keySet) => [...keySet.keys()].map(({ material }) => material))
    // A key in two sets would sign for both services.
    if (new Set(materials).size < materials.length)
      throw new ConfigurationError('serviceJwks: two services have the same key. Make separate keys for each')
    checkedVersions = versions
  }

  async function verify(request: Request): Promise<ServiceClaims> {
    const [, token] = /^Bearer ([^ ]+)$/.exec(request.headers.get('authorization') ?? '') ?? []
    if (token === undefined) throw new CallRejection('TOKEN_MISSING')
    const claims = await verifyServiceToken(token, { jwks: serviceJwks, audience, now: config.now() })
    checkKeys()
    return claims
  }

  return async (request) => {
    const { wait, signal, end } = startDeadline(timeoutMs, request.signal)
    let path: string | null = null
    try {
      if (BROWSER_HEADERS.some((name) => request.headers.has(name)))
        throw new CallRejection('ORIGIN_REJECTED')
      if (request.method !== 'POST') throw new CallRejection('METHOD_NOT_ALLOWED')
      // Before the body is read and a slot is taken: without a key, an attacker gets no slot.
      const token = await wait(verify(request))
      path = token.path
      if (!consume(token)) throw new CallRejection('TOKEN_REPLAYED')
      const execution = runLimited(async () => {
        const body = await wait(readBody(request, maxBodyBytes))
        if ((await digestBody(body)) !== token.bodyDigest) throw new CallRejection('TOKEN_INVALID')
        return functions.execute({ ...token, body, token, signal })
      })
      return respond(await wait(execution))
    } catch (error) {
      const cause = toRejection(error)
      const { code, message } = cause
      if (code === 'UNDECIDED' && !request.signal.aborted)
        reportFailure(cause.cause ?? cause, { path, step: 'procedure' }, config)
      return respond(encodeError(new TRPCError({ code: CALL_REJECTIONS[code], message, cause })))
    } finally {
      end()
    }
  }
}

/** How long an expired token is kept: longer than a call waits for its verification. */
const RETENTION_MS = 60_000

/** Returns a function that consumes a token. It returns false for one that this process has seen. */
function createTokenMemory(now: () => Date): (claims: ServiceClaims) => boolean {
  const seen = new Map<string, number>()
  return ({ service, id, expiresAt }) => {
    const oldest = now().getTime() - RETENTION_MS
    // All tokens have about the same lifetime, so the first to come is the first to expire.
    for (const [key, expiry] of seen) {
      if (expiry > oldest) break
      seen.delete(key)
    }
    const key = JSON.stringify([service, id])
    if (seen.has(key)) return false
    seen.set(key, expiresAt.getTime())
    return true
  }
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await readBytes(request.body, maxBytes)
  } catch (cause) {
    const isTooLarge = cause instanceof BodyTooLargeError
    throw new CallRejection(isTooLarge ? 'PAYLOAD_TOO_LARGE' : 'CALL_INVALID', { cause })
  }
}

function toRejection(error: unknown): CallRejection {
  if (isCallRejection(error)) return error
  const reason = isAuthError(error) ? error.reason : null
  const code = reason === 'TOKEN_INVALID' || reason === 'TOKEN_EXPIRED' ? reason : 'UNDECIDED'
  return new CallRejection(code, { cause: error })
}

function respond(envelope: string): Response {
  const status = getHTTPStatusCode(JSON.parse(envelope))
  const headers = new Headers({ 'content-type': 'application/json', 'cache-control': 'no-store' })
  if (status === 405) headers.set('allow', 'POST')
  if (status === 503) headers.set('retry-after', '1')
  return new Response(envelope, { status, headers })
}
