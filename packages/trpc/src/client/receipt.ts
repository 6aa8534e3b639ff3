import { CLIENT_LEEWAY_SECONDS, type TokenResponse } from '@sallyport/core/internal/protocol'

/** A JWT as it was received, in a form that the tabs of a browser can hand to each other. */
export interface Receipt extends Pick<TokenResponse, 'userId' | 'sessionId' | 'expiresIn'> {
  /** When it was received, in milliseconds since 1970; larger than that of every receipt before it. */
  readonly seq: number
}

/** A receipt, and when it was received by the clock of this page. */
export interface Held extends Receipt {
  readonly heldSinceMs: number
}

/** Begins to measure the age of a receipt. */
export function hold(receipt: Receipt): Held {
  return { ...receipt, heldSinceMs: performance.now() - Math.max(0, Date.now() - receipt.seq) }
}

/**
 * In how many milliseconds a JWT is to be refreshed: the leeway before it expires, or half of its life where that is short.
 *
 * Two clocks, and by which it is older counts: that of the system may be set back, and the other one may stand still while the machine
 * sleeps. At worst that is a refresh too early.
 *
 * @param earlier a share of the leeway
 */
export function dueInMs({ expiresIn, seq, heldSinceMs }: Held, earlier = 0): number {
  const lifetime = expiresIn * 1_000
  const age = Math.max(performance.now() - heldSinceMs, Date.now() - seq)
  const leeway = Math.min(CLIENT_LEEWAY_SECONDS * 1_000, lifetime / 2)
  return lifetime - leeway * (1 + earlier) - age
}

/** Whether the response of an endpoint has new credentials. */
export function isTokenResponse(body: object): body is TokenResponse {
  const { expiresIn, sessionId }: Partial<Record<keyof TokenResponse, unknown>> = body
  return Number(expiresIn) > 0 && Boolean(sessionId)
}
