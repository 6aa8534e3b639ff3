import { ConfigurationError, isAuthError } from '@sallyport/core'
import {
  BodyTooLargeError,
  digestBody,
  keySetsOf,
  keysVersion,
  readBytes,
  refuseSharedKeys,
  type ServiceClaims,
  type ServiceKeys,
  safeListener,
  serviceAudience,
  verifyServiceToken,
} from '@sallyport/core/internal/server'
import { decodeBody } from '../call/call-body.ts'
import { type CallLimits, checkLimits } from '../call/call-limits.ts'
import type { CallOutcome } from '../call/call-outcome.ts'
import { CALL_REFUSALS, CallRefusal, isCallRefusal } from '../call/call-refusal.ts'
import { callSlots } from '../call/call-slots.ts'
import { statusOf } from '../call/call-status.ts'
import { type Deadline, startDeadline } from '../call/deadline.ts'
import type { InternalFunctions } from './internal-functions.ts'
import { createTokenMemory } from './token-memory.ts'

/** What {@link createInternalHandler} takes. */
export interface InternalHandlerOptions extends Omit<CallLimits, 'maxResponseBytes'> {
  /**
   * The public keys of the services. One set, `staticJwks(env.SERVICE_JWKS, { name: 'SERVICE_JWKS' })`,
   * trusts every service to give its own name. Several services need one set each, by name: `{ edge:
   * staticJwks(...), reports: staticJwks(...) }`. A service then can't call under the name of another. No key
   * may be in two sets, or sign JWTs of users.
   */
  readonly serviceJwks: ServiceKeys
  /** Is told of every failure that became a 503. @default console.error */
  readonly onError?: (error: unknown) => void
}

/** A browser sends one of these with every request that a page of another site can cause. */
const BROWSER_HEADERS = ['origin', 'cookie', 'sec-fetch-site']

/**
 * Serves internal functions to other processes of ours. For a listener of its own, which no user can reach: a unix socket for a process
 * beside this one, an https address for the edge. Never rejects.
 *
 * @example
 * const handler = createInternalHandler(internalFunctions, { serviceJwks: staticJwks(env.SERVICE_JWKS) })
 * createServer(getRequestListener(handler)).listen('/run/app/internal.sock')
 * @throws ConfigurationError when a key of a service is one of users' JWTs too, or a limit cannot work
 */
export function createInternalHandler(
  functions: InternalFunctions,
  { serviceJwks, onError = console.error, ...limits }: InternalHandlerOptions,
): (request: Request) => Promise<Response> {
  const { config } = functions
  const { timeoutMs, maxConcurrent, maxBodyBytes } = checkLimits(limits)
  const takeSlot = callSlots(maxConcurrent)
  const tell = safeListener(onError)
  const audience = serviceAudience(config)
  const tokens = createTokenMemory(config.now)
  const keySets = keySetsOf(serviceJwks)
  let checkedVersions = ''
  checkKeys()

  /** Again whenever either set has changed: one that is fetched is empty at first. */
  function checkKeys(): void {
    const versions = [...keySets.map(({ version }) => version), keysVersion(config)].join(' ')
    if (versions === checkedVersions) return
    for (const keySet of keySets) refuseSharedKeys(keySet, config)
    refuseRepeatedKeys()
    checkedVersions = versions
  }

  /** A key in two sets would sign for both services. */
  function refuseRepeatedKeys(): void {
    const materials = keySets.flatMap((keySet) => [...keySet.keys()].map(({ material }) => material))
    if (new Set(materials).size < materials.length)
      throw new ConfigurationError('serviceJwks: two services have the same key. Make keys for each of them')
  }

  async function verify(request: Request): Promise<ServiceClaims> {
    const [, token] = /^Bearer ([^ ]+)$/.exec(request.headers.get('authorization') ?? '') ?? []
    if (token === undefined) throw new CallRefusal('TOKEN_MISSING')
    const claims = await verifyServiceToken(token, { jwks: serviceJwks, audience, now: config.now() })
    checkKeys()
    return claims
  }

  async function handle(request: Request, deadline: Deadline): Promise<Response> {
    // Before the body and before a place is taken, so that strangers take none; and one token takes one.
    const claims = await deadline.wait(verify(request))
    if (!tokens.use(claims)) throw new CallRefusal('TOKEN_REPLAYED')
    const release = takeSlot()
    let execution: Promise<string> | null = null
    try {
      const bytes = await deadline.wait(read(request, maxBodyBytes))
      const bodyDigest = await digestBody(bytes)
      if (bodyDigest !== claims.bodyDigest) throw new CallRefusal('TOKEN_INVALID')
      const call = decodeBody(bytes)
      if (call.path !== claims.path || call.type !== claims.type) throw new CallRefusal('TOKEN_INVALID')
      const { actor, idempotencyKey, service, id, expiresAt } = claims
      execution = functions.execute({
        ...call,
        actor,
        idempotencyKey,
        bodyDigest,
        token: { service, id, expiresAt },
        // Another call with the same key may wait for it.
        signal: idempotencyKey === null ? deadline.signal : undefined,
      })
      return answer(await deadline.wait(execution))
    } finally {
      // What nobody waits for any more still takes its place.
      if (execution === null) release()
      else execution.then(release, release)
    }
  }

  return async (request) => {
    try {
      if (BROWSER_HEADERS.some((name) => request.headers.has(name))) throw new CallRefusal('ORIGIN_REJECTED')
      if (request.method !== 'POST') throw new CallRefusal('METHOD_NOT_ALLOWED')
      const deadline = startDeadline(timeoutMs, request.signal)
      return await handle(request, deadline).finally(deadline.end)
    } catch (error) {
      const refusal = toRefusal(error)
      if (refusal.code === 'UNDECIDED' && !request.signal.aborted) tell(refusal.cause ?? refusal)
      return refuse(refusal)
    }
  }
}

function refuse({ code }: CallRefusal): Response {
  const status = CALL_REFUSALS[code]
  const response = json(JSON.stringify({ refused: code }), status)
  if (status === 405) response.headers.set('allow', 'POST')
  if (status === 503) response.headers.set('retry-after', '1')
  return response
}

async function read(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await readBytes(request.body, maxBytes)
  } catch (cause) {
    throw new CallRefusal(cause instanceof BodyTooLargeError ? 'PAYLOAD_TOO_LARGE' : 'CALL_INVALID', {
      cause,
    })
  }
}

function toRefusal(error: unknown): CallRefusal {
  if (isCallRefusal(error)) return error
  if (isAuthError(error) && (error.reason === 'TOKEN_INVALID' || error.reason === 'TOKEN_EXPIRED'))
    return new CallRefusal(error.reason, { cause: error })
  return new CallRefusal('UNDECIDED', { cause: error })
}

function answer(text: string): Response {
  const outcome: CallOutcome = JSON.parse(text)
  return json(text, statusOf(outcome))
}

/** No cache may keep it. */
function json(text: string, status: number): Response {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return new Response(text, { status, headers })
}
