import { rejections } from '../../protocol/endpoint-error.ts'
import type { RateLimit } from '../../rate-limit/rate-limit.ts'
import type { EmailUser } from '../email-user.ts'

export const TOTP_ERRORS = {
  CODE_INVALID: { status: 400, message: 'This code is wrong, or was used before. Enter the next one.' },
  TOTP_ENABLED: { status: 409, message: 'An authenticator app is already set up. Remove it first.' },
  TOTP_NOT_ENABLED: { status: 409, message: 'No authenticator app is set up. Set one up first.' },
} as const

export const totpError: ReturnType<typeof rejections<typeof TOTP_ERRORS>> = rejections(TOTP_ERRORS)

/** The rate limits of `totp()`. Accepted codes don't use them up. */
export interface TotpLimits {
  /** Codes for an account per network. @default 10 in 15 minutes */
  readonly network: RateLimit
  /** Codes from an app for an account, on all networks together. @default 50 in a day */
  readonly account: RateLimit
}

export const DEFAULT_LIMITS: TotpLimits = {
  network: { points: 10, duration: 15 * 60 },
  account: { points: 50, duration: 24 * 60 * 60 },
}

/** Reports a change of second factors, in case someone else made it. */
export interface FactorEmail {
  /** `recovery-code-used` also says that a sign-in, or a confirmation, used one. */
  readonly kind: 'totp-enabled' | 'totp-disabled' | 'recovery-codes-created' | 'recovery-code-used'
  readonly to: string
  readonly user: EmailUser
  /** How many recovery codes are left. */
  readonly recoveryCodes: number
}

/** The options of `totp()`. */
export interface TotpOptions {
  /** The app's name, which authenticator apps show. */
  readonly issuer: string
  /** Sends the notices. @default none are sent */
  readonly sendEmail?: (email: FactorEmail) => Promise<unknown>
  /**
   * How long a browser that the user trusts signs in without a code, in seconds, at most 100 years; 0 turns
   * it off.
   * @default 30 days
   */
  readonly trustedDeviceSeconds?: number
  readonly limits?: Partial<TotpLimits>
}

export interface Settings extends Pick<TotpOptions, 'issuer' | 'sendEmail'> {
  readonly trustedDeviceSeconds: number
  readonly limits: TotpLimits
}
