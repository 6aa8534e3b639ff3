export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
}

export const LOOKUP_TIMEOUT_MS = 2_000

const SWEEP_MS = 100

/** In Cloudflare Workers, a timer ends with the request that set it. */
export const timersAreShared: boolean = globalThis.navigator?.userAgent !== 'Cloudflare-Workers'

const pending = new Set<{ endsAt: number; reject: (reason: Error) => void }>()
let isSweeping = false

/**
 * Rejects if a promise takes longer than `timeoutMs`, at most 100 ms late. All callers share one timer where
 * they can, because nearly every promise settles long before it fires.
 * @throws DeadlineError
 */
export function withDeadline<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    if (!timersAreShared) {
      // Never cleared, because it ends with the request.
      setTimeout(() => reject(new DeadlineError('No response in time')), timeoutMs)
      promise.then(resolve, reject)
      return
    }
    const entry = { endsAt: performance.now() + timeoutMs, reject }
    pending.add(entry)
    startSweeping()
    promise.then(
      (value) => {
        pending.delete(entry)
        resolve(value)
      },
      (error) => {
        pending.delete(entry)
        reject(error)
      },
    )
  })
}

function startSweeping(): void {
  if (!isSweeping) setTimeout(sweep, SWEEP_MS)
  isSweeping = true
}

function sweep(): void {
  const now = performance.now()
  for (const entry of pending) {
    if (entry.endsAt > now) continue
    pending.delete(entry)
    entry.reject(new DeadlineError('No response in time'))
  }
  isSweeping = false
  if (pending.size > 0) startSweeping()
}
