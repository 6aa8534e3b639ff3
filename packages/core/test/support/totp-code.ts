import type { TestAuth } from '@sallyport/core/testing'
import { TOTP } from 'otpauth'

/** Returns what an authenticator app shows at this moment. */
export function totpCode(secret: string, { clock }: Pick<TestAuth, 'clock'>): string {
  return new TOTP({ secret }).generate({ timestamp: clock.now().getTime() })
}
