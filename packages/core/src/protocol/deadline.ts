export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

export const LOOKUP_TIMEOUT_MS = 2_000

const SWEEP_MS = 100

/** In Cloudflare Workers, a timer ends with the request that set it. */
export const timersAreShared: boolean = globalThis.navigator?.userAgent !== 'Cloudflare-Workers'

/** The functions that reject, with the time at which they do. */
const pending = new Map<(reason: Error) => void, number>()
/** The function that set the timer of the next sweep; null if none is set. */
let setBy: typeof setTimeout | null = null

/**
 * Rejects if a promise takes longer than `timeoutMs`, at most 100 ms late. All callers share one timer where
 * they can, because nearly every promise settles long before it fires. A response that arrived while the
 * process was stopped is read first.
 * @throws DeadlineError
 */
export function withDeadline<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    promise.then(resolve, reject)
    if (timersAreShared) {
      const remove = () => pending.delete(reject)
      pending.set(reject, performance.now() + timeoutMs)
      startSweeping()
      promise.then(remove, remove)
    } else {
      // Never cleared, because it ends with the request.
      setTimeout(expire, timeoutMs, reject)
    }
  })
}

function startSweeping(): void {
  // A timer that a test has faked may never fire. In Node, timers fire before sockets are read, and
  // `setImmediate` comes after both.
  if (setBy !== setTimeout) setTimeout(globalThis.setImmediate ?? sweep, SWEEP_MS, sweep)
  setBy = setTimeout
}

function sweep(): void {
  const now = performance.now()
  for (const [reject, endsAt] of pending) {
    if (endsAt > now) continue
    pending.delete(reject)
    expire(reject)
  }
  setBy = null
  if (pending.size > 0) startSweeping()
}

function expire(reject: (reason: Error) => void): void {
  reject(new DeadlineError('No response in time'))
}
