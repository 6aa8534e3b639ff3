import { requirePositive } from '../protocol/settings.ts'

/** How many attempts are allowed in how long. */
export interface RateLimit {
  readonly points: number
  /** Seconds from the first attempt until the count restarts. */
  readonly duration: number
}

/** The longest duration that a timer can be set to. */
const MAX_LIMIT_SECONDS = 2_147_483

/** Validates a limit. @throws ConfigurationError naming the setting and the invalid member */
export function checkRateLimit(setting: string, { points, duration }: RateLimit): RateLimit {
  return {
    points: requirePositive(`${setting}.points`, points),
    duration: requirePositive(`${setting}.duration`, duration, MAX_LIMIT_SECONDS),
  }
}

/** Counts attempts. All processes that share a database share its counts. */
export interface RateLimitStore {
  /**
   * Counts one attempt atomically: of any number at once, exactly `points` are allowed. Rejected attempts
   * aren't counted.
   *
   * @returns null if it is allowed, otherwise the seconds until the next one is
   * @throws AuthError `SESSIONS_UNAVAILABLE` if it can't be counted
   */
  consume(key: string, limit: RateLimit): Promise<number | null>
  /**
   * Takes back an attempt that succeeded. In a store without it, successful attempts stay counted.
   *
   * @throws AuthError `SESSIONS_UNAVAILABLE` if the count can't be changed
   */
  giveBack?(key: string, limit: RateLimit): Promise<void>
}
