import { GRACE_SECONDS } from '../protocol.ts'

/** Whether the secret and version before the rotation at `rotatedAt` are still valid. */
export function isInGrace(rotatedAt: Date | null, now: Date): boolean {
  return rotatedAt !== null && now.getTime() - rotatedAt.getTime() <= GRACE_SECONDS * 1000
}

/** How long sessions live, in seconds. `Infinity` where there is no such bound. */
export interface SessionLifetimes {
  readonly expiresInSeconds: number
  /** In place of `expiresInSeconds` where the user did not want to be remembered. */
  readonly unrememberedExpiresInSeconds: number
  /** From the sign-in, whatever happens. */
  readonly absoluteLifetimeSeconds: number
  /** From the last refresh. */
  readonly idleTimeoutSeconds: number
  readonly renewAfterSeconds: number
}

/** What of a session decides how long it may live. */
interface Living {
  readonly createdAt: Date
  readonly remembered: boolean
}

/**
 * When a session expires that is used now. Every bound is an `expiresAt`, so that Step 2 has one date to look at: an idle timeout
 * is a short life that each refresh renews.
 */
export function expiryOf({ createdAt, remembered }: Living, lifetimes: SessionLifetimes, now: Date): Date {
  const seconds = slidingSeconds(remembered, lifetimes)
  const latest = createdAt.getTime() + lifetimes.absoluteLifetimeSeconds * 1000
  return new Date(Math.min(now.getTime() + seconds * 1000, latest))
}

/**
 * The later expiry of a session that is due for renewal, or null when it is not: `renewAfter` has not passed since the last time, or
 * it has reached its absolute lifetime.
 */
export function renewalOf(
  session: Living & { readonly expiresAt: Date },
  lifetimes: SessionLifetimes,
  now: Date,
): Date | null {
  const seconds = slidingSeconds(session.remembered, lifetimes)
  const renewedAt = session.expiresAt.getTime() - seconds * 1000
  // Of a life that is shorter than two days, a renewal after one could come too late.
  const renewAfter = Math.min(lifetimes.renewAfterSeconds, seconds / 2)
  const hasIdleTimeout = lifetimes.idleTimeoutSeconds <= seconds
  if (!hasIdleTimeout && now.getTime() - renewedAt < renewAfter * 1000) return null
  const expiresAt = expiryOf(session, lifetimes, now)
  return expiresAt > session.expiresAt ? expiresAt : null
}

function slidingSeconds(remembered: boolean, lifetimes: SessionLifetimes): number {
  const { expiresInSeconds, unrememberedExpiresInSeconds, idleTimeoutSeconds } = lifetimes
  const seconds = remembered ? expiresInSeconds : Math.min(expiresInSeconds, unrememberedExpiresInSeconds)
  return Math.min(seconds, idleTimeoutSeconds)
}
