import { MAX_TIMER_MS, requirePositive } from '../protocol/settings.ts'

/** A maximum number of attempts (`points`) in a window of time. */
export interface RateLimit {
  readonly points: number
  /** Seconds from the first attempt until the count restarts. */
  readonly duration: number
}

/** Validates a limit. @throws ConfigurationError naming the setting and the invalid member */
export function checkRateLimit(setting: string, { points, duration }: RateLimit): RateLimit {
  return {
    points: requirePositive(`${setting}.points`, points),
    duration: requirePositive(`${setting}.duration`, duration, Math.floor(MAX_TIMER_MS / 1000)),
  }
}

/** The counters of rate limits. All processes that share a database share them. */
export interface RateLimitStore {
  /**
   * Adds one attempt atomically: of any number at once, exactly `points` are allowed. Rejected attempts don't
   * add to the count.
   * @returns null if it is allowed, otherwise the seconds until the next one is
   * @throws AuthError `SESSIONS_UNAVAILABLE` if it can't be counted
   */
  consume(key: string, limit: RateLimit): Promise<number | null>
  /**
   * Subtracts an attempt that succeeded. A store without it limits successful attempts too.
   * @throws AuthError `SESSIONS_UNAVAILABLE` if the count can't be changed
   */
  giveBack?(key: string, limit: RateLimit): Promise<void>
}
