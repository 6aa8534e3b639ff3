import type { AuthConfig } from '@sallyport/core'
import { backOff } from '@sallyport/core/internal/protocol'
import {
  type ByteStream,
  issueServiceToken,
  parseServiceSigningKeys,
  readBytes,
  requireClaimText,
  requireSecureUrl,
  serviceAudience,
  UNCACHED,
} from '@sallyport/core/internal/server'
import type { OperationLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { type CallLimits, checkLimits } from '../call/call-limits.ts'
import { CallRejection, isCallRejection } from '../call/call-rejection.ts'
import { decodeResult, parseJson } from '../call/envelope.ts'
import { createRunner, type EncodedCall } from './create-runner.ts'
import type { Runner } from './runner.ts'

export interface HttpRunnerOptions extends CallLimits {
  /** The address of the internal handler: https, or http on this machine. */
  readonly url: string
  readonly service: {
    readonly name: string
    /** `SERVICE_SIGNING_KEYS`, of `keys create --prefix SERVICE_`, or the `signingKeys` of `openKeyFile`. */
    readonly signingKeys: unknown
  }
  /** The configuration of the app, whose base URL is the audience of the tokens. */
  readonly config: AuthConfig
  /** For example the one of `undici` with a `dispatcher` for a unix socket. @default globalThis.fetch */
  readonly fetch?: (url: string, init: HttpRunnerRequest) => Promise<HttpRunnerResponse>
}

/** The request that {@link httpRunner} passes to `fetch`. */
export interface HttpRunnerRequest {
  readonly method: 'POST'
  readonly headers: Record<string, string>
  readonly body: Uint8Array<ArrayBuffer>
  readonly redirect: 'manual'
  readonly cache?: 'no-store'
  readonly signal: AbortSignal
}

/** The response that {@link httpRunner} needs: a `Response` of any library. */
export interface HttpRunnerResponse {
  readonly status: number
  readonly body: ByteStream | null
}

/**
 * Creates a runner that calls internal functions in the process with the database, which serves them with
 * `createInternalHandler`. Needs `@trpc/client`, and runs on the edge. Each attempt carries a service JWT for
 * the function and the body. If the outcome is unknown, it repeats a query or a call with an idempotency key.
 *
 * @throws ConfigurationError if a URL, key, name, or limit is invalid
 * @example
 * const runner = httpRunner({
 *   url: 'https://backend.example.com/internal',
 *   service: { name: 'edge', signingKeys: env.SERVICE_SIGNING_KEYS },
 *   config: authConfig,
 * })
 */
export function httpRunner({
  url,
  service,
  config,
  fetch: request = (input, init) => fetch(input, init),
  ...limits
}: HttpRunnerOptions): Runner {
  const { maxResponseBytes } = checkLimits(limits)
  const keys = parseServiceSigningKeys(service.signingKeys, config)
  const audience = serviceAudience(config)
  // The body carries credentials of users.
  requireSecureUrl('The url of httpRunner', url)
  requireClaimText('service.name', service.name)

  async function attempt(call: EncodedCall): Promise<unknown> {
    const { body, bodyDigest, deadline } = call
    const { signal } = deadline
    const options = { key: keys.active, service: service.name, audience, bodyDigest, now: config.now() }
    const token = await issueServiceToken(call, options)
    const exchange = async () => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      // Redirects are not followed; some edge runtimes don't support `error`.
      const init = { method: 'POST', headers, body, redirect: 'manual', signal, ...UNCACHED } as const
      const response = await request(url, init)
      return { status: response.status, bytes: await readBytes(response.body, maxResponseBytes) }
    }
    const { status, bytes } = await deadline.wait(exchange()).catch((cause) => {
      throw signal.aborted ? signal.reason : new CallRejection('UNDECIDED', { cause })
    })
    return decodeResult(parseJson(bytes), status)
  }

  /** Sends a call, and once more if its outcome is unknown, it may be repeated, and time is left. */
  async function send(call: EncodedCall): Promise<unknown> {
    try {
      return await attempt(call)
    } catch (error) {
      const mayRepeat = call.type === 'query' || call.idempotencyKey !== null
      if (!mayRepeat || !isCallRejection(error) || error.code !== 'UNDECIDED') throw error
    }
    // Gives a process time to restart. `backOff` spreads the pause, so clients don't return at once.
    const pauseMs = backOff(1, { minMs: 150, maxMs: 150 })
    await call.deadline.wait(new Promise((resolve) => setTimeout(resolve, pauseMs)))
    return attempt(call)
  }

  const link: OperationLink<AnyTRPCRouter> = ({ op }) =>
    observable((observer) => {
      send(op.context.call as EncodedCall).then((data) => {
        observer.next({ result: { data } })
        observer.complete()
      }, observer.error)
    })
  // Loaded by the first call, because apps with `localRunner` need no client.
  const loadClient = async () =>
    (await import('@trpc/client')).createTRPCUntypedClient({ links: [() => link] })
  let client: ReturnType<typeof loadClient> | undefined

  return createRunner({ ...limits, config, code: 'BACKEND_UNAVAILABLE' }, async (call) => {
    client ??= loadClient()
    const { type, path, input } = call
    return (await client)[type](path, input, { context: { call } }).catch(({ cause }) => {
      throw cause
    })
  })
}
