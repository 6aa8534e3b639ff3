import type { AuthPlugin } from '../../endpoints/definition.ts'
import { rejections } from '../../protocol/endpoint-error.ts'
import type { RateLimit } from '../../rate-limit/rate-limit.ts'
import type { Settings as PasswordSettings } from '../email-password/settings.ts'

export const ANONYMOUS_ERRORS = {
  ALREADY_SIGNED_IN: { status: 409, message: 'You are signed in. Sign out first.' },
  NOT_ANONYMOUS: { status: 409, message: 'This account has a way to sign in. Change it in its settings.' },
  UPGRADE_UNAVAILABLE: { status: 501, message: 'This app has no passwords. Choose another way to sign in.' },
} as const

export const anonymousError: ReturnType<typeof rejections<typeof ANONYMOUS_ERRORS>> =
  rejections(ANONYMOUS_ERRORS)

/** The rate limits of `anonymous()`. */
export interface AnonymousLimits {
  /** New anonymous users per address or IPv6 /64; ten times that per /48. @default 20 in an hour */
  readonly address: RateLimit
}

export const DEFAULT_LIMITS: AnonymousLimits = { address: { points: 20, duration: 60 * 60 } }

/** The options of `anonymous()`. */
export interface AnonymousOptions {
  /**
   * The `emailPassword()` of the same definition: `upgradeAnonymous` has its rules and sends its emails.
   * @default none: `upgradeAnonymous` fails with 501 `UPGRADE_UNAVAILABLE`
   */
  readonly password?: AuthPlugin
  /**
   * Deletes anonymous users this many days after they were created, once they have no session and no way to
   * sign in. Runs after `signInAnonymous`, at most once a minute, for up to 100 users. Their rows in the
   * app's tables must have `on delete cascade`. @default never
   */
  readonly pruneAfterDays?: number
  readonly limits?: Partial<AnonymousLimits>
}

export interface Settings extends Pick<AnonymousOptions, 'pruneAfterDays'> {
  readonly password: PasswordSettings | null
  readonly limits: AnonymousLimits
}
