export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

export const LOOKUP_TIMEOUT_MS = 2_000

const SWEEP_MS = 100

/** In Cloudflare Workers, a timer ends with the request that set it. */
export const timersAreShared: boolean = globalThis.navigator?.userAgent !== 'Cloudflare-Workers'

const pending = new Set<{ endsAt: number; reject: (reason: Error) => void }>()
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
      const entry = { endsAt: performance.now() + timeoutMs, reject }
      const remove = () => pending.delete(entry)
      pending.add(entry)
      startSweeping()
      promise.then(remove, remove)
    } else {
      // Never cleared, because it ends with the request.
      setTimeout(() => reject(new DeadlineError('No response in time')), timeoutMs)
    }
  })
}

function startSweeping(): void {
  // A timer that a test has faked may never fire.
  if (setBy !== setTimeout) setTimeout(afterReading, SWEEP_MS, globalThis.setImmediate)
  setBy = setTimeout
}

/** In Node, timers fire before sockets are read, and `setImmediate` comes after both. */
function afterReading(next: typeof setImmediate | undefined): void {
  if (next === undefined) sweep()
  else next(sweep)
}

function sweep(): void {
  const now = performance.now()
  for (const entry of pending) {
    if (entry.endsAt > now) continue
    pending.delete(entry)
    entry.reject(new DeadlineError('No response in time'))
  }
  setBy = null
  if (pending.size > 0) startSweeping()
}
