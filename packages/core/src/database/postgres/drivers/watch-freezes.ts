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
