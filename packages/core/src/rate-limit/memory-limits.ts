import type { RateLimit, RateLimitStore } from './rate-limit.ts'

/** Milliseconds between two removals of ended counters. */
const SWEEP_MS = 10_000

/** New keys then share counters: a client that sends a new key with each call must not fill the memory. */
const MAX_COUNTERS = 100_000
const SHARED_COUNTERS = 1_000

interface Counter {
  points: number
  readonly end: number
}

/**
 * Creates a store in memory, for tests and for an app of one process. Above 100,000 counters, new keys share
 * some.
 */
export function memoryLimits(): Required<RateLimitStore> {
  const counters = new Map<string, Counter>()
  let sweptAt = Number.NEGATIVE_INFINITY

  function sweep(now: number): void {
    if (Math.abs(now - sweptAt) < SWEEP_MS) return
    sweptAt = now
    for (const [name, { end }] of counters) if (end <= now) counters.delete(name)
  }

  function nameOf(key: string, limit: RateLimit): string {
    const name = counterName(key, limit)
    if (counters.size < MAX_COUNTERS || counters.has(name)) return name
    return counterName(`shared:${hash(key) % SHARED_COUNTERS}`, limit)
  }

  return {
    async consume(key, limit) {
      const now = Date.now()
      sweep(now)
      const name = nameOf(key, limit)
      const found = counters.get(name)
      const end = windowEnd(limit, now)
      // A later end was computed before the clock was set back.
      const isOpen = found !== undefined && found.end > now && found.end <= end
      const counter = isOpen ? found : { points: 0, end }
      counters.set(name, counter)
      if (counter.points >= limit.points) return secondsUntil(counter.end, now)
      counter.points++
      return null
    },
    async giveBack(key, limit) {
      const counter = counters.get(nameOf(key, limit))
      if (counter !== undefined && counter.points > 0) counter.points--
    },
  }
}

function hash(key: string): number {
  let value = 0
  for (let index = 0; index < key.length; index++) value = (value * 31 + key.charCodeAt(index)) >>> 0
  return value
}

/** Returns the name of a counter. Two limits on one key must not share one. */
export function counterName(key: string, { points, duration }: RateLimit): string {
  return `${points}/${duration}:${key}`
}

/** Returns when a window that begins now ends, in milliseconds. A column stores it as an integer. */
export function windowEnd({ duration }: RateLimit, now: number): number {
  return Math.min(Math.ceil(now + duration * 1000), Number.MAX_SAFE_INTEGER)
}

export function secondsUntil(end: number, now: number): number {
  return Math.max(1, Math.ceil((end - now) / 1000))
}
