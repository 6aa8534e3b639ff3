import { CallRefusal } from './call-refusal.ts'

/** The time that is left for a call. */
export interface Deadline {
  /** Aborts when the time is up or whoever waits has left. */
  readonly signal: AbortSignal
  /**
   * What comes of a promise in time.
   *
   * @throws CallRefusal `UNDECIDED` when the time is up; the reason of the caller's signal when that aborts
   */
  wait<Value>(promise: Promise<Value>): Promise<Value>
  /** Lets go of the timer and of the caller's signal. */
  end(): void
}

/** Starts the time of a call. Neither `AbortSignal.any` nor `AbortSignal.timeout`, which some runtimes at the edge do not have. */
export function startDeadline(timeoutMs: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController()
  const timer = setTimeout(
    () => controller.abort(new CallRefusal('UNDECIDED', { cause: new Error('No answer in time') })),
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
