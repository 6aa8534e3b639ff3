import { CLIENT_LEEWAY_SECONDS, type TokenResponse } from '@sallyport/core/internal/protocol'

/** A received JWT, without the token, as the tabs of a browser share it. */
export interface Receipt extends Pick<TokenResponse, 'userId' | 'sessionId' | 'expiresIn'> {
  /** When it was received, in milliseconds since 1970; greater than that of every earlier receipt. */
  readonly seq: number
  /** Set after a sign-in or a confirmation. */
  readonly isNew?: boolean | undefined
}

export interface Held extends Receipt {
  /** When this page got it, by the monotonic clock. `seq` has the time before. */
  readonly since: number
}

export function hold(receipt: Receipt): Held {
  return { ...receipt, since: performance.now() }
}

/**
 * Returns the milliseconds until a JWT is due: one leeway before it expires, or at half of a short lifetime.
 * Uses the later of two clocks: the system clock may be set back, the monotonic one may stop during sleep.
 */
export function dueInMs(held: Held, earlierByShare = 0): number {
  const lifetime = held.expiresIn * 1_000
  const age = Math.max(performance.now() - held.since, Date.now() - held.seq)
  const leeway = Math.min(CLIENT_LEEWAY_SECONDS * 1_000, lifetime / 2)
  return lifetime - leeway * (1 + earlierByShare) - age
}

export function isDue(held: Held | null): boolean {
  return held !== null && dueInMs(held) <= 0
}

export function isTokenResponse(body: Partial<Record<keyof TokenResponse, unknown>>): body is TokenResponse {
  return Number(body.expiresIn) > 0 && Boolean(body.sessionId)
}
