import type { AuthConfig } from '@sallyport/core'
import { backOff } from '@sallyport/core/internal/protocol'
import {
  type ByteStream,
  digestBody,
  issueServiceToken,
  parseServiceSigningKeys,
  readBytes,
  requireClaimText,
  requireSecureUrl,
  safeListener,
  serviceAudience,
} from '@sallyport/core/internal/server'
import { encodeBody } from '../call/call-body.ts'
import { type CallLimits, checkLimits } from '../call/call-limits.ts'
import { isOutcome, takeResult } from '../call/call-outcome.ts'
import { CallRefusal, type CallRefusalCode, isCallRefusal, isCallRefusalCode } from '../call/call-refusal.ts'
import { callSlots } from '../call/call-slots.ts'
import { statusOf } from '../call/call-status.ts'
import { type Deadline, startDeadline } from '../call/deadline.ts'
import type { Runner, RunnerCall } from './runner.ts'
import { toRunner } from './to-runner.ts'

/** What {@link httpRunner} takes. */
export interface HttpRunnerOptions extends CallLimits {
  /** Where the internal handler is reached: https, or http on this machine. */
  readonly url: string
  readonly service: {
    /** Who calls, for the logs of the other side. */
    readonly name: string
    /** The variable `SERVICE_SIGNING_KEYS` that `sallyport keys create --prefix SERVICE_` makes, or the `signingKeys` of `openKeyFile`. */
    readonly signingKeys: unknown
  }
  /** The configuration of the app: its base URL says whom the tokens are for. */
  readonly config: AuthConfig
  /** Such as that of `undici` with a `dispatcher` for a unix socket. @default globalThis.fetch */
  readonly fetch?: (url: string, init: HttpRunnerRequest) => Promise<HttpRunnerResponse>
  /** Is told why a call was 503: a network that fails, a key that the other side does not know. @default console.error */
  readonly onError?: (error: unknown) => void
}

/** What {@link HttpRunnerOptions.fetch} is called with. */
export interface HttpRunnerRequest {
  readonly method: 'POST'
  readonly headers: Record<string, string>
  readonly body: Uint8Array<ArrayBuffer>
  readonly redirect: 'manual'
  readonly signal: AbortSignal
}

/** What {@link HttpRunnerOptions.fetch} answers: a `Response` of any library. */
export interface HttpRunnerResponse {
  readonly status: number
  readonly body: ByteStream | null
}

/** Between two attempts, so that a process that starts anew has a moment; spread out, so that not all come back at once. */
const PAUSE = { minMs: 150, maxMs: 150 }

/**
 * Calls internal functions in the process that has the database, which serves them with `createInternalHandler`. Every attempt carries a
 * service JWT of its own, bound to the function and to the very bytes of the body.
 *
 * A query whose outcome is not known is sent once more, a mutation only with an idempotency key. Runs on the edge.
 *
 * @throws ConfigurationError where the URL, the keys, the name or a limit cannot work
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
  // The body carries credentials of users.
  requireSecureUrl('The url of httpRunner', url)
  requireClaimText('service.name', service.name)
  const takeSlot = callSlots(maxConcurrent)

  async function run(call: RunnerCall): Promise<unknown> {
    const body = encodeBody(call, maxBodyBytes)
    const release = takeSlot()
    const deadline = startDeadline(timeoutMs, call.signal)
    try {
      const bodyDigest = await digestBody(body)
      const attempt = async () => answerOf(await send(call, { body, bodyDigest, deadline }))
      const mayRepeat = call.type === 'query' || call.idempotencyKey !== undefined
      return await (mayRepeat ? twice(attempt, deadline) : attempt())
    } finally {
      deadline.end()
      release()
    }
  }

  async function send(
    call: RunnerCall,
    { body, bodyDigest, deadline }: { body: Uint8Array<ArrayBuffer>; bodyDigest: string; deadline: Deadline },
  ): Promise<Answer> {
    const { path, type, actor, idempotencyKey = null } = call
    const token = await issueServiceToken(
      { path, type, actor, idempotencyKey },
      {
        key: keys.active,
        service: service.name,
        audience: serviceAudience(config),
        bodyDigest,
        now: config.now(),
      },
    )
    const exchange = async (): Promise<Answer> => {
      const response = await request(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
        // Not followed; runtimes at the edge do not know `error`.
        redirect: 'manual',
        signal: deadline.signal,
      })
      return { status: response.status, bytes: await readBytes(response.body, maxResponseBytes) }
    }
    try {
      return await deadline.wait(exchange())
    } catch (cause) {
      if (deadline.signal.aborted) throw deadline.signal.reason
      throw new CallRefusal('UNDECIDED', { cause })
    }
  }

  return toRunner(run, safeListener(onError))
}

interface Answer {
  readonly status: number
  readonly bytes: Uint8Array
}

/** The result, or why there is none. Whatever is not plainly an answer of ours decides nothing. */
function answerOf({ status, bytes }: Answer): unknown {
  const json = parse(bytes)
  // The status has to agree: other servers answer with JSON as well.
  if (isOutcome(json) && statusOf(json) === status) return takeResult(json)
  throw new CallRefusal(refusalIn(json), { cause: new Error(`The internal listener answered ${status}`) })
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

function refusalIn(json: unknown): CallRefusalCode {
  const isRefusal = typeof json === 'object' && json !== null && 'refused' in json
  return isRefusal && isCallRefusalCode(json.refused) ? json.refused : 'UNDECIDED'
}

/** Once more where nothing is known, unless the time is up. */
async function twice<Result>(attempt: () => Promise<Result>, deadline: Deadline): Promise<Result> {
  try {
    return await attempt()
  } catch (error) {
    if (!isCallRefusal(error) || error.code !== 'UNDECIDED') throw error
  }
  await deadline.wait(new Promise((resolve) => setTimeout(resolve, backOff(1, PAUSE))))
  return attempt()
}
