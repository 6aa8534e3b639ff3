import type { RateLimit, RateLimitStore } from './rate-limit.ts'

/** How many new counters come between two removals of ended ones. */
const SWEEP_SIZE = 1_000

/** Creates a store in memory, for tests and for an app of one process. */
export function memoryLimits(): Required<RateLimitStore> {
  const counters = new Map<string, { points: number; readonly end: number }>()

  function start(name: string, limit: RateLimit): { points: number; readonly end: number } {
    const now = Date.now()
    if (counters.size % SWEEP_SIZE === 0)
      for (const [name, { end }] of counters) if (end <= now) counters.delete(name)
    const counter = { points: 0, end: windowEnd(limit, now) }
    counters.set(name, counter)
    return counter
  }

  return {
    async consume(key, limit) {
      const [name, now] = [counterName(key, limit), Date.now()]
      const found = counters.get(name)
      const counter = found !== undefined && found.end > now ? found : start(name, limit)
      if (counter.points >= limit.points) return secondsUntil(counter.end, now)
      counter.points++
      return null
    },
    async giveBack(key, limit) {
      const counter = counters.get(counterName(key, limit))
      if (counter !== undefined && counter.points > 0) counter.points--
    },
  }
}

/** Returns the name of a counter. Two limits on one key must not share one. */
export function counterName(key: string, { points, duration }: RateLimit): string {
  return `${points}/${duration}:${key}`
}

/** Returns when a window that begins now ends, in milliseconds. */
export function windowEnd({ duration }: RateLimit, now: number): number {
  return now + duration * 1000
}

export function secondsUntil(end: number, now: number): number {
  return Math.max(1, Math.ceil((end - now) / 1000))
}
