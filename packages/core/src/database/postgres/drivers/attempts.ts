import pLimit from 'p-limit'
import { backOff } from '../../../protocol.ts'

export const RECONNECT_PAUSE: { minMs: number; maxMs: number } = { minMs: 50, maxMs: 500 }

const TICK_MS = 250

/** A process that runs ticks more often, unless something blocks it for that long. */
const MAX_GAP_MS = 1_500

export interface FreezeWatch {
  wasFrozen(): boolean
  stop(): void
}

/**
 * Watches whether the process is frozen, as AWS Lambda does after each response: a failure from before or
 * during a freeze says nothing about the server now. Uses `Date.now`, because `performance.now` may stop.
 */
export function watchFreezes(): FreezeWatch {
  let lastTick = Date.now()
  let isFrozen = false
  function wasFrozen(): boolean {
    const now = Date.now()
    isFrozen ||= now - lastTick > MAX_GAP_MS
    lastTick = now
    return isFrozen
  }
  const timer = setInterval(wasFrozen, TICK_MS).unref()
  return { wasFrozen, stop: () => clearInterval(timer) }
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
      const age = Date.now() - (failed?.at ?? 0)
      if (failed !== null && age >= 0 && age < failed.pauseMs) throw failed.error
      const freezes = watchFreezes()
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
      }
    })
}
