import pLimit from 'p-limit'
import { backOff } from '../../../protocol.ts'

export const RECONNECT_PAUSE: { minMs: number; maxMs: number } = { minMs: 50, maxMs: 500 }

/** While the process runs, an attempt and the pause after it are shorter. */
const MAX_ATTEMPT_MS = 3_000

/**
 * Returns whether the process was frozen since a time of `Date.now`: a failure from before says nothing about
 * the server now. `performance.now` may stop in a frozen process. Also true if the clock was set back.
 */
export function wasFrozen(since: number): boolean {
  const age = Date.now() - since
  return age < 0 || age > MAX_ATTEMPT_MS
}

/**
 * Limits how many connections open at the same time. After a failed attempt, others fail with its error for
 * up to half a second. Then one attempt at a time is made until one succeeds, to not flood a server that
 * comes back.
 */
export function connectionAttempts(
  concurrency: number,
): <Result>(attempt: () => Promise<Result>) => Promise<Result> {
  const limit = pLimit(concurrency)
  let failures = 0
  let failed: { readonly error: unknown; readonly at: number; readonly pauseMs: number } | null = null

  return (attempt) =>
    limit(async () => {
      const startedAt = Date.now()
      const age = startedAt - (failed?.at ?? 0)
      if (failed !== null && age >= 0 && age < failed.pauseMs) throw failed.error
      try {
        const result = await attempt()
        failures = 0
        failed = null
        limit.concurrency = concurrency
        return result
      } catch (error) {
        if (wasFrozen(startedAt)) throw error
        failures++
        failed = { error, at: Date.now(), pauseMs: backOff(failures, RECONNECT_PAUSE) }
        limit.concurrency = 1
        throw error
      }
    })
}
