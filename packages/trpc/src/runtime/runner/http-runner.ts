import type { AuthConfig } from '@sallyport/core'
import { backOff } from '@sallyport/core/protocol'
import {
  type ByteStream,
  digestBody,
  issueServiceToken,
  parseServiceSigningKeys,
  readBytes,
  requireClaimText,
  requireSecureUrl,
  safely,
  serviceAudience,
} from '@sallyport/core/service'
import type { OperationLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { encodeBody } from '../call/call-body.ts'
import { type CallLimits, callSlots, checkLimits } from '../call/call-limits.ts'
import { CallRejection, isCallRejection } from '../call/call-rejection.ts'
import { type Deadline, startDeadline } from '../call/deadline.ts'
import { takeResult } from '../call/take-result.ts'
import type { Runner, RunnerCall } from './runner.ts'
import { toRunner } from './to-runner.ts'

export interface HttpRunnerOptions extends CallLimits {
  /** The address of the internal handler: https, or http on this machine. */
  readonly url: string
  readonly service: {
    /** The name of this service. */
    readonly name: string
    /** The variable `SERVICE_SIGNING_KEYS` of `sallyport keys create --prefix SERVICE_`, or the `signingKeys` of `openKeyFile`. */
    readonly signingKeys: unknown
  }
  /** The configuration of the app, whose base URL is the audience of the tokens. */
  readonly config: AuthConfig
  /** Such as that of `undici` with a `dispatcher` for a unix socket. @default globalThis.fetch */
  readonly fetch?: (url: string, init: HttpRunnerRequest) => Promise<HttpRunnerResponse>
  /** Called with the reason of every 503, such as a network failure or an unknown key. @default console.error */
  readonly onError?: (error: unknown) => void
}

export interface HttpRunnerRequest {
  readonly method: 'POST'
  readonly headers: Record<string, string>
  readonly body: Uint8Array<ArrayBuffer>
  readonly redirect: 'manual'
  readonly signal: AbortSignal
}

/** A `Response` of any library. */
export interface HttpRunnerResponse {
  readonly status: number
  readonly body: ByteStream | null
}

/** The pause before the second attempt. It gives a process time to restart, and is spread so clients don't return at once. */
const PAUSE = { minMs: 150, maxMs: 150 }

/**
 * Calls internal functions in the process with the database, which serves them with `createInternalHandler`. The calls go through
 * `@trpc/client`, which must be installed. Each attempt carries its own service JWT, bound to the function and the exact body.
 *
 * If the outcome is unknown, a query is sent once more, and a mutation only with an idempotency key. Runs on the edge.
 *
 * @throws ConfigurationError for an invalid URL, key, name, or limit
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
  onError = console.error,
  ...options
}: HttpRunnerOptions): Runner {
  const { timeoutMs, maxConcurrent, maxBodyBytes, maxResponseBytes } = checkLimits(options)
  const request = options.fetch ?? ((input, init) => fetch(input, init))
  const keys = parseServiceSigningKeys(service.signingKeys, config)
  const audience = serviceAudience(config)
  // The body carries credentials of users.
  requireSecureUrl('The url of httpRunner', url)
  requireClaimText('service.name', service.name)
  const takeSlot = callSlots(maxConcurrent)

  async function send(call: RunnerCall): Promise<unknown> {
    const body = encodeBody(call, maxBodyBytes)
    const release = takeSlot()
    const deadline = startDeadline(timeoutMs, call.signal)
    try {
      const bodyDigest = await digestBody(body)
      const attempt = async () => {
        const authorization = `Bearer ${await issueToken(call, bodyDigest)}`
        return exchange({ authorization, 'content-type': 'application/json' }, { body, deadline })
      }
      const mayRepeat = call.type === 'query' || call.idempotencyKey !== undefined
      return await (mayRepeat ? twice(attempt, deadline) : attempt())
    } finally {
      deadline.end()
      release()
    }
  }

  function issueToken(call: RunnerCall, bodyDigest: string): Promise<string> {
    const { path, type, actor, idempotencyKey = null } = call
    return issueServiceToken(
      { path, type, actor, idempotencyKey },
      { key: keys.active, service: service.name, audience, bodyDigest, now: config.now() },
    )
  }

  async function exchange(
    headers: Record<string, string>,
    { body, deadline: { signal, wait } }: { body: Uint8Array<ArrayBuffer>; deadline: Deadline },
  ): Promise<unknown> {
    const fetchBytes = async () => {
      // Redirects are not followed; some edge runtimes don't support `error`.
      const response = await request(url, { method: 'POST', headers, body, redirect: 'manual', signal })
      return { status: response.status, bytes: await readBytes(response.body, maxResponseBytes) }
    }
    const { status, bytes } = await wait(fetchBytes()).catch((cause) => {
      throw signal.aborted ? signal.reason : new CallRejection('UNDECIDED', { cause })
    })
    return takeResult(parse(bytes), status)
  }

  const link: OperationLink<AnyTRPCRouter> = ({ op }) =>
    observable((observer) => {
      send(op.context.call as RunnerCall).then((data) => {
        observer.next({ result: { data } })
        observer.complete()
      }, observer.error)
    })
  // Loaded by the first call: apps with `localRunner` need no client.
  const client = async () => (await import('@trpc/client')).createTRPCUntypedClient({ links: [() => link] })
  let connecting: ReturnType<typeof client> | undefined

  return toRunner(async (call) => {
    connecting ??= client()
    const { type, path, input } = call
    return (await connecting)[type](path, input, { context: { call } }).catch(({ cause }) => {
      throw cause
    })
  }, safely(onError))
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

/** Attempts once more if the outcome is unknown and time is left. */
async function twice<Result>(attempt: () => Promise<Result>, deadline: Deadline): Promise<Result> {
  try {
    return await attempt()
  } catch (error) {
    if (!isCallRejection(error) || error.code !== 'UNDECIDED') throw error
  }
  await deadline.wait(new Promise((resolve) => setTimeout(resolve, backOff(1, PAUSE))))
  return attempt()
}
