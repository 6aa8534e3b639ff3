import { GRACE_SECONDS } from '../protocol.ts'

/** Returns whether the secret and version before the rotation at `rotatedAt` are still valid. */
export function isInGrace(rotatedAt: Date | null, now: Date): boolean {
  return rotatedAt !== null && now.getTime() - rotatedAt.getTime() <= GRACE_SECONDS * 1000
}

/** How long sessions live, in seconds. */
export interface SessionLifetimes {
  /** Lifetime since the session was last extended. @default 2_592_000 (30 days) */
  readonly expiresInSeconds: number
  /** The same, if the user chose not to be remembered. @default 86_400 (1 day) */
  readonly unrememberedExpiresInSeconds: number
  /** Ends a session this long after the sign-in, even if it is used. @default 15_552_000 (180 days) */
  readonly absoluteLifetimeSeconds: number
  /** Ends a session this long after its last refresh. Must exceed the lifetime of a JWT. @default Infinity */
  readonly idleTimeoutSeconds: number
  /** Extends a session that is used this long after it was last extended. @default 86_400 (1 day) */
  readonly renewAfterSeconds: number
}

/**
 * Returns when a session that is used now expires. Every limit becomes part of `expiresAt`, so Step 2
 * compares one date: an idle timeout is a short lifetime that each refresh renews.
 */
export function expiryOf(
  { createdAt, remembered }: { createdAt: Date; remembered: boolean },
  lifetimes: SessionLifetimes,
  now: Date,
): Date {
  const seconds = slidingSeconds(remembered, lifetimes)
  const latest = createdAt.getTime() + lifetimes.absoluteLifetimeSeconds * 1000
  return new Date(Math.min(now.getTime() + seconds * 1000, latest))
}

/** Returns the later expiry of a session that is due for renewal, or null. */
export function renewalOf(
  session: { createdAt: Date; remembered: boolean; expiresAt: Date },
  lifetimes: SessionLifetimes,
  now: Date,
): Date | null {
  const seconds = slidingSeconds(session.remembered, lifetimes)
  const renewedAt = session.expiresAt.getTime() - seconds * 1000
  // With a lifetime under two days, a renewal after one day could come too late.
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
