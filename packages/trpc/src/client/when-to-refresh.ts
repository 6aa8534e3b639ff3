import { isDecided } from './auth-client-error.ts'
import { isOut, isUnanswered } from './auth-state.ts'
import { backOff, LONGEST_TIMER_MS } from './back-off.ts'
import { dueInMs, type Held } from './receipt.ts'
import type { SessionState } from './session-state.ts'

/** By how much of the leeway a timer may be early, so that not all devices refresh at once. */
const JITTER = 1 / 6

/** A session that is about to end has JWTs that are due at once. */
const SHORTEST_TIMER_MS = 1_000

/** Whether to ask now: for a first answer, or a new JWT. */
export function isRefreshDue({ shown, held }: SessionState): boolean {
  return isUnanswered(shown) || isDue(held)
}

/** Whether a JWT is to be refreshed. */
export function isDue(held: Held | null): boolean {
  return held !== null && dueInMs(held) <= 0
}

/** In how many milliseconds to refresh; null if asking again would change nothing. */
export function nextRefreshInMs({ shown, held, failures }: SessionState): number | null {
  // Without a failure, an error says nothing about the token endpoint.
  const error = failures > 0 ? shown.error : null
  if (isOut(shown) || (error && isDecided(error))) return null
  const dueIn = held === null ? 0 : dueInMs(held, Math.random() * JITTER)
  const delay = error ? backOff(failures, error.retryAfterSeconds) : dueIn
  return Math.max(SHORTEST_TIMER_MS, Math.min(delay, LONGEST_TIMER_MS))
}
