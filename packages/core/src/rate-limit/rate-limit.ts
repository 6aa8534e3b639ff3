import { requirePositive } from '../protocol/settings.ts'

/** How many attempts are allowed in how long. */
export interface RateLimit {
  readonly points: number
  /** Seconds from the first attempt until the count begins anew. */
  readonly duration: number
}

/** A timer cannot be set to more. */
const LONGEST_LIMIT_SECONDS = 2_147_483

/**
 * A limit that can work.
 *
 * @param setting its name
 * @throws ConfigurationError naming the member at fault
 */
export function checkRateLimit(setting: string, { points, duration }: RateLimit): RateLimit {
  return {
    points: requirePositive(`${setting}.points`, points),
    duration: requirePositive(`${setting}.duration`, duration, LONGEST_LIMIT_SECONDS),
  }
}

/** Counts attempts. All processes that share a database share its counts. */
export interface RateLimitStore {
  /**
   * Counts one attempt, atomically: of any number at once exactly `points` are allowed. Rejected attempts
   * aren't counted.
   *
   * @returns null when it is allowed, else the seconds until the next one is
   * @throws AuthError `SESSIONS_UNAVAILABLE` when it cannot be counted
   */
  consume(key: string, limit: RateLimit): Promise<number | null>
  /**
   * Takes back an attempt that was counted and then succeeded. In a store without it, successful attempts
   * stay counted.
   *
   * @throws AuthError `SESSIONS_UNAVAILABLE` when the count can't be changed
   */
  giveBack?(key: string, limit: RateLimit): Promise<void>
}
