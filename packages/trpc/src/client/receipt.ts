import { CLIENT_LEEWAY_SECONDS, type TokenResponse } from '@sallyport/core/internal/protocol'

/** A received JWT, without the token, in a form that the tabs of a browser can share. */
export interface Receipt extends Pick<TokenResponse, 'userId' | 'sessionId' | 'expiresIn'> {
  /** When it was received, in milliseconds since 1970; greater than that of every earlier receipt. */
  readonly seq: number
}

/** A receipt, and when it was received by the clock of this page. */
export interface Held extends Receipt {
  readonly heldSinceMs: number
}

export function hold(receipt: Receipt): Held {
  return { ...receipt, heldSinceMs: performance.now() - Math.max(0, Date.now() - receipt.seq) }
}

/**
 * Returns the milliseconds until a JWT is due for a refresh: the leeway, or half of a short lifetime, before it
 * expires. Of two clocks the later counts: the system clock may be set back, and the other one may stop while
 * the machine sleeps. At worst, that is a refresh too early. `earlier` is a share of the leeway.
 */
export function dueInMs({ expiresIn, seq, heldSinceMs }: Held, earlier = 0): number {
  const lifetime = expiresIn * 1_000
  const age = Math.max(performance.now() - heldSinceMs, Date.now() - seq)
  const leeway = Math.min(CLIENT_LEEWAY_SECONDS * 1_000, lifetime / 2)
  return lifetime - leeway * (1 + earlier) - age
}

export function isDue(held: Held | null): boolean {
  return held !== null && dueInMs(held) <= 0
}

/** Whether the response of an endpoint has new credentials. */
export function isTokenResponse(body: object): body is TokenResponse {
  const { expiresIn, sessionId }: Partial<Record<keyof TokenResponse, unknown>> = body
  return Number(expiresIn) > 0 && Boolean(sessionId)
}
