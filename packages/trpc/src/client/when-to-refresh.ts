import { type AuthClientError, isDecided } from './auth-client-error.ts'
import { type AuthState, isOut, isUnanswered } from './auth-state.ts'
import { backOff, LONGEST_TIMER_MS } from './back-off.ts'
import { dueInMs, type Held } from './receipt.ts'

/** By how much of the leeway a timer may be early, so that not all devices refresh at once. */
const JITTER = 1 / 6

/** A session that is about to end has JWTs that are due at once. */
const SHORTEST_TIMER_MS = 1_000

/** Whether there is something to ask now: a first answer, or a new JWT. */
export function isRefreshDue(state: AuthState, held: Held | null): boolean {
  return isUnanswered(state) || isDue(held)
}

/** Whether a JWT is to be refreshed. */
export function isDue(held: Held | null): boolean {
  return held !== null && dueInMs(held) <= 0
}

/**
 * In how many milliseconds a timer is to refresh; null where asking again would change nothing.
 *
 * @param options.held the newest JWT
 * @param options.failures attempts in a row that got nowhere
 * @param options.pageError why the server rejects the WebSockets of the page, which says nothing about the JWT
 */
export function nextRefreshInMs(
  state: AuthState,
  {
    held,
    failures,
    pageError = null,
  }: { held: Held | null; failures: number; pageError?: AuthClientError | null },
): number | null {
  const { error } = state
  if (isOut(state) || (error !== null && isDecided(error))) return null
  const dueIn = held === null ? 0 : dueInMs(held, Math.random() * JITTER)
  const isWell = error === null || (failures === 0 && error === pageError)
  const delay = isWell ? dueIn : backOff(failures, error.retryAfterSeconds)
  return Math.max(SHORTEST_TIMER_MS, Math.min(delay, LONGEST_TIMER_MS))
}
