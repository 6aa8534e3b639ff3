import { rejections } from '../../protocol/endpoint-error.ts'
import type { RateLimit } from '../../rate-limit/rate-limit.ts'
import type { EmailUser } from '../email-user.ts'

export const EMAIL_CODE_ERRORS = {
  EMAIL_CODE_INVALID: {
    status: 400,
    message: 'This code is wrong or has expired. Check the newest email, or request another one.',
  },
  EMAIL_LINK_INVALID: {
    status: 400,
    message: 'This link works once, in the browser that requested it. Type the code from the email there.',
  },
} as const

export const emailCodeError: ReturnType<typeof rejections<typeof EMAIL_CODE_ERRORS>> =
  rejections(EMAIL_CODE_ERRORS)

/** The rate limits of `emailCode()`. */
export interface EmailCodeLimits {
  /**
   * Requests and codes per address or IPv6 /64; ten times that per /48. Successful sign-ins don't use it up.
   * @default 100 in 15 minutes
   */
  readonly address: RateLimit
  /** Emails to one address, per network, and as many per known browser. @default 5 in an hour */
  readonly email: RateLimit
  /** Emails to one address that unknown browsers on all networks request together. @default 20 in an hour */
  readonly mailbox: RateLimit
}

export const DEFAULT_LIMITS: EmailCodeLimits = {
  address: { points: 100, duration: 15 * 60 },
  email: { points: 5, duration: 60 * 60 },
  mailbox: { points: 20, duration: 60 * 60 },
}

export interface CodeEmail {
  readonly kind: 'email-code'
  readonly to: string
  /** Null if the code creates the account. */
  readonly user: EmailUser | null
  /** The code, as the user types it: `WDJB-MJHT`. */
  readonly code: string
  /** For the link. Put it behind a `#`, which browsers never send: `https://example.com/code#token=...` */
  readonly token: string
  readonly expiresAt: Date
}

/** Tells someone who requested a code that no account has this address. */
export interface NoAccountEmail {
  readonly kind: 'no-account'
  readonly to: string
}

/**
 * The first code verified the address. The account had a password that was set before, perhaps by someone
 * else: it was removed, and its sessions ended.
 */
export interface PasswordRemovedEmail {
  readonly kind: 'password-removed'
  readonly to: string
  readonly user: EmailUser
}

/** The options of `emailCode()`. */
export interface EmailCodeOptions {
  /** Sends the emails, in the app's words and language. */
  readonly sendEmail: (email: CodeEmail | NoAccountEmail | PasswordRemovedEmail) => Promise<unknown>
  /** Creates an account with a verified address for an email that has none. @default false */
  readonly signUp?: boolean
  readonly limits?: Partial<EmailCodeLimits>
}

export interface Settings extends EmailCodeOptions {
  readonly signUp: boolean
  readonly limits: EmailCodeLimits
}
