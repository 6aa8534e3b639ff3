import { ConfigurationError, isAuthError } from '@sallyport/core'
import {
  BodyTooLargeError,
  digestBody,
  keySetsOf,
  keysVersion,
  readBytes,
  rejectSharedKeys,
  type ServiceClaims,
  type ServiceKeys,
  safeListener,
  serviceAudience,
  verifyServiceToken,
} from '@sallyport/core/internal/server'
import { getHTTPStatusCode } from '@trpc/server/http'
import { type CallLimits, callSlots, checkLimits } from '../call/call-limits.ts'
import { CallRejection, isCallRejection } from '../call/call-rejection.ts'
import { type Deadline, startDeadline } from '../call/deadline.ts'
import type { InternalFunctions } from './internal-functions.ts'
import { encodeError } from './internal-router.ts'
import { createTokenMemory } from './token-memory.ts'

export interface InternalHandlerOptions extends Omit<CallLimits, 'maxResponseBytes'> {
  /**
   * The public keys of the services. One set, `staticJwks(env.SERVICE_JWKS, { name: 'SERVICE_JWKS' })`, trusts every service to give its
   * own name. Several services need one set each, by name: `{ edge: staticJwks(...), reports: staticJwks(...) }`. A service then can't
   * call under the name of another. No key may be in two sets, or sign JWTs of users.
   */
  readonly serviceJwks: ServiceKeys
  /** Called with every failure that became a 503. @default console.error */
  readonly onError?: (error: unknown) => void
}

/** Browsers send at least one of these with every request that a page of another site can cause. */
const BROWSER_HEADERS = ['origin', 'cookie', 'sec-fetch-site']

/**
 * Creates the handler that serves internal functions to other processes. Mount it on a listener that users can't reach: a unix socket
 * for a process on this machine, an https address for the edge. The handler never rejects.
 *
 * @example
 * const handler = createInternalHandler(internalFunctions, { serviceJwks: staticJwks(env.SERVICE_JWKS) })
 * createServer(getRequestListener(handler)).listen('/run/app/internal.sock')
 * @throws ConfigurationError if a service key also signs JWTs of users, or for an invalid limit
 */
export function createInternalHandler(
  functions: InternalFunctions,
  { serviceJwks, onError = console.error, ...limits }: InternalHandlerOptions,
): (request: Request) => Promise<Response> {
  const { config } = functions
  const { timeoutMs, maxConcurrent, maxBodyBytes } = checkLimits(limits)
  const takeSlot = callSlots(maxConcurrent)
  const report = safeListener(onError)
  const audience = serviceAudience(config)
  const tokens = createTokenMemory(config.now)
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

  async function handle(request: Request, deadline: Deadline): Promise<string> {
    // Before the body is read and a slot is taken: an attacker without a key gets no slot, and a token gets one.
    const claims = await deadline.wait(verify(request))
    if (!tokens.consume(claims)) throw new CallRejection('TOKEN_REPLAYED')
    const release = takeSlot()
    let execution: Promise<string> | null = null
    try {
      const body = await deadline.wait(read(request, maxBodyBytes))
      if ((await digestBody(body)) !== claims.bodyDigest) throw new CallRejection('TOKEN_INVALID')
      execution = functions.execute({ ...claims, body, token: claims, signal: deadline.signal })
      return await deadline.wait(execution)
    } finally {
      // A function keeps its slot until it ends, even without a caller.
      if (execution === null) release()
      else execution.then(release, release)
    }
  }

  return async (request) => {
    try {
      if (BROWSER_HEADERS.some((name) => request.headers.has(name)))
        throw new CallRejection('ORIGIN_REJECTED')
      if (request.method !== 'POST') throw new CallRejection('METHOD_NOT_ALLOWED')
      const deadline = startDeadline(timeoutMs, request.signal)
      return respond(await handle(request, deadline).finally(deadline.end))
    } catch (error) {
      const rejection = toRejection(error)
      if (rejection.code === 'UNDECIDED' && !request.signal.aborted) report(rejection.cause ?? rejection)
      return respond(encodeError(rejection) ?? '')
    }
  }
}

async function read(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await readBytes(request.body, maxBytes)
  } catch (cause) {
    const isTooLarge = cause instanceof BodyTooLargeError
    throw new CallRejection(isTooLarge ? 'PAYLOAD_TOO_LARGE' : 'CALL_INVALID', { cause })
  }
}

function toRejection(error: unknown): CallRejection {
  if (isCallRejection(error)) return error
  if (isAuthError(error) && (error.reason === 'TOKEN_INVALID' || error.reason === 'TOKEN_EXPIRED'))
    return new CallRejection(error.reason, { cause: error })
  return new CallRejection('UNDECIDED', { cause: error })
}

function respond(envelope: string): Response {
  const status = getHTTPStatusCode(JSON.parse(envelope))
  const headers = new Headers({ 'content-type': 'application/json', 'cache-control': 'no-store' })
  if (status === 405) headers.set('allow', 'POST')
  if (status === 503) headers.set('retry-after', '1')
  return new Response(envelope, { status, headers })
}
