import pLimit from 'p-limit'
import { backOff } from '../../../protocol.ts'
import { type FreezeWatch, watchFreezes } from './watch-freezes.ts'

export const RECONNECT_PAUSE: { minMs: number; maxMs: number } = { minMs: 50, maxMs: 500 }

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
  /** Of the attempts that others may wait for. */
  const running = new Set<FreezeWatch>()

  return (attempt) => {
    // An attempt from before a freeze may take until its timeout.
    if ([...running].some((freezes) => freezes.wasFrozen())) limit.concurrency = concurrency
    return limit(async () => {
      const age = Date.now() - (failed?.at ?? 0)
      if (failed !== null && age >= 0 && age < failed.pauseMs) throw failed.error
      const freezes = watchFreezes()
      running.add(freezes)
      try {
        const result = await attempt()
        failures = 0
        failed = null
        limit.concurrency = concurrency
        return result
      } catch (error) {
        if (freezes.wasFrozen()) throw error
        failures++
        failed = { error, at: Date.now(), pauseMs: backOff(failures, RECONNECT_PAUSE) }
        limit.concurrency = 1
        throw error
      } finally {
        freezes.stop()
        running.delete(freezes)
      }
    })
  }
}
