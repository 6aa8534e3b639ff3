import type { TestClock } from '@sallyport/core/testing'
import { TOTP } from 'otpauth'

interface Moment {
  readonly clock: Pick<TestClock, 'now'>
  /** @default 0 */
  readonly inSeconds?: number
}

/** Returns what an authenticator app shows at this moment, or later. */
export function totpCode(secret: string, { clock, inSeconds = 0 }: Moment): string {
  return new TOTP({ secret }).generate({ timestamp: clock.now().getTime() + inSeconds * 1000 })
}
