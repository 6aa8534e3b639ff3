import { CallRejection } from './call-rejection.ts'

/** The time limit of a call. */
export interface Deadline {
  /** Aborts when the time is up or the caller leaves. */
  readonly signal: AbortSignal
  /** @throws CallRejection `UNDECIDED` when the time is up, or the reason of the caller's signal */
  wait<Value>(promise: Promise<Value>): Promise<Value>
  /** Releases the timer and the caller's signal. */
  end(): void
}

/** Starts the timer of a call. Some edge runtimes have neither `AbortSignal.any` nor `AbortSignal.timeout`. */
export function startDeadline(timeoutMs: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(
    () => controller.abort(new CallRejection('UNDECIDED', { cause: new Error('No response in time') })),
    timeoutMs,
  )
  const leave = () => controller.abort(caller?.reason)
  if (caller?.aborted) leave()
  else caller?.addEventListener('abort', leave, { once: true })
  const { signal } = controller

  return {
    signal,
    wait(promise) {
      return new Promise((resolve, reject) => {
        const giveUp = () => reject(signal.reason)
        if (signal.aborted) giveUp()
        else signal.addEventListener('abort', giveUp, { once: true })
        promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
      })
    },
    end() {
      clearTimeout(timer)
      caller?.removeEventListener('abort', leave)
    },
  }
}
