/** A promise took too long. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

/** The default timeout of a session lookup. */
export const LOOKUP_TIMEOUT_MS = 2_000

const SWEEP_MS = 100

interface Pending {
  readonly endsAt: number
  readonly reject: (reason: Error) => void
}

const pending = new Set<Pending>()
let sweeping = false

/**
 * Rejects if a promise takes longer than `timeoutMs`, at most 100 ms late. All callers share one timer,
 * because nearly every promise settles long before it fires.
 *
 * @throws DeadlineError
 */
export function withDeadline<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const entry: Pending = { endsAt: performance.now() + timeoutMs, reject }
    pending.add(entry)
    startSweeping()
    promise.then(
      (value) => {
        pending.delete(entry)
        resolve(value)
      },
      (error: unknown) => {
        pending.delete(entry)
        reject(error)
      },
    )
  })
}

function startSweeping(): void {
  if (sweeping) return
  sweeping = true
  setTimeout(sweep, SWEEP_MS)
}

function sweep(): void {
  const now = performance.now()
  for (const entry of pending) {
    if (entry.endsAt > now) continue
    pending.delete(entry)
    entry.reject(new DeadlineError('No answer in time'))
  }
  sweeping = false
  if (pending.size > 0) startSweeping()
}
