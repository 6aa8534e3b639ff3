import { MAX_TIMER_MS, requirePositive } from '@sallyport/core/internal/server'
import { CallRejection } from './call-rejection.ts'

/** The limits of one side of internal calls. Both sides have the same defaults. */
export interface CallLimits {
  /** Milliseconds for a whole call. @default 10_000 */
  readonly timeoutMs?: number
  /** Concurrent calls. One more gets 503 at once. @default 100 */
  readonly maxConcurrent?: number
  /** Bytes of the request body. @default 1_048_576 */
  readonly maxBodyBytes?: number
  /** Bytes of the response body. @default 1_048_576 */
  readonly maxResponseBytes?: number
}

const MEBIBYTE = 1_048_576

export function checkLimits({
  timeoutMs = 10_000,
  maxConcurrent = 100,
  maxBodyBytes = MEBIBYTE,
  maxResponseBytes = MEBIBYTE,
}: CallLimits): Required<CallLimits> {
  return {
    timeoutMs: requirePositive('timeoutMs', timeoutMs, MAX_TIMER_MS),
    maxConcurrent: requirePositive('maxConcurrent', maxConcurrent),
    maxBodyBytes: requirePositive('maxBodyBytes', maxBodyBytes),
    maxResponseBytes: requirePositive('maxResponseBytes', maxResponseBytes),
  }
}

/**
 * Creates a function that runs calls, or throws CallRejection `UNDECIDED` if too many are running. A call
 * keeps its slot until it ends, even after its caller has left.
 */
export function limitCalls(maxConcurrent: number): <Value>(call: () => Promise<Value>) => Promise<Value> {
  let running = 0
  return async (call) => {
    if (running >= maxConcurrent)
      throw new CallRejection('UNDECIDED', {
        cause: new Error(`More than ${maxConcurrent} concurrent calls. Raise maxConcurrent`),
      })
    running++
    try {
      return await call()
    } finally {
      running--
    }
  }
}

export interface Deadline {
  /** Aborts when the time is up or the caller leaves. */
  readonly signal: AbortSignal
  /** @throws CallRejection `UNDECIDED` when the time is up, or the reason of the caller's signal */
  wait<Value>(promise: Promise<Value>): Promise<Value>
  end(): void
}

/** Starts the timer of a call. Some edge runtimes lack `AbortSignal.any` and `AbortSignal.timeout`. */
export function startDeadline(timeoutMs: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController()
  const { signal } = controller
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  aborted.catch(() => {})
  const timeout = new CallRejection('UNDECIDED', {
    cause: new Error(`No response within ${timeoutMs} ms. Raise timeoutMs`),
  })
  const timer = setTimeout(() => controller.abort(timeout), timeoutMs)
  const leave = () => controller.abort(caller?.reason)
  if (caller?.aborted) leave()
  else caller?.addEventListener('abort', leave, { once: true })
  return {
    signal,
    wait: (promise) => Promise.race([aborted, promise]),
    end() {
      clearTimeout(timer)
      caller?.removeEventListener('abort', leave)
    },
  }
}
