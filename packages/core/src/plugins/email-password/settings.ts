import type { AuthPlugin } from '../../endpoints/definition.ts'
import { emit } from '../../events/emit.ts'
import type { EventListener } from '../../events/event.ts'
import { EndpointError, rejections } from '../../protocol/endpoint-error.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import type { RateLimit } from '../../rate-limit/rate-limit.ts'
import { isCommonPassword } from './common-passwords.ts'
import { isMadeOfContext } from './context-words.ts'
import type { OtherHash, OtherHashName } from './other-hashes.ts'
import { hashPassword, type Requester } from './password.ts'
import type { SendEmail } from './send-email.ts'

export const EMAIL_PASSWORD_ERRORS = {
  PASSWORD_TOO_COMMON: { status: 400, message: 'This password is too easy to guess. Choose another one.' },
  PASSWORD_BREACHED: { status: 400, message: 'This password appeared in a data breach. Choose another one.' },
  LINK_INVALID: { status: 400, message: 'This link has expired or has been used. Request a new one.' },
  INVALID_CREDENTIALS: { status: 401, message: 'Email or password is wrong. Check both and try again.' },
  EMAIL_NOT_VERIFIED: {
    status: 403,
    message: 'Open the link in the email that we have sent you. Then sign in.',
  },
  EMAIL_TAKEN: { status: 409, message: 'An account with this email exists. Sign in, or use another email.' },
  USERNAME_TAKEN: { status: 409, message: 'This username is taken or reserved. Choose another one.' },
  EMAIL_UNAVAILABLE: { status: 501, message: 'This app does not send emails. Contact its operator.' },
} as const

export const emailPasswordError: ReturnType<typeof rejections<typeof EMAIL_PASSWORD_ERRORS>> =
  rejections(EMAIL_PASSWORD_ERRORS)

/** Creates the `INVALID_CREDENTIALS` of a user who was asked only for the password. */
export function wrongPassword(message = 'The password is wrong. Try again.'): EndpointError {
  const { INVALID_CREDENTIALS } = EMAIL_PASSWORD_ERRORS
  return new EndpointError({ ...INVALID_CREDENTIALS, code: 'INVALID_CREDENTIALS', message })
}

export interface ChosenPassword {
  readonly password: string
  /** The id is null at sign-up, which alone may have a username. */
  readonly user: {
    readonly id: string | null
    readonly name: string
    readonly email: string
    readonly username?: string
  }
  /** Emits `email-password:check-skipped`: the check couldn't run. */
  readonly reportSkipped: (cause: string) => void
}

/**
 * Checks a new password, after our own rules. To reject it, throw an `EndpointError` from `rejections`: the
 * user sees its message. Any other error is a 500, and the password isn't set.
 * @example
 * const reject = rejections({ PASSWORD_REUSED: { status: 400, message: 'Choose a new password' } })
 * emailPassword({
 *   async checkPassword({ password, user }) {
 *     if (await wasUsed(user.id, password)) throw reject('PASSWORD_REUSED')
 *   },
 * })
 */
export type CheckPassword = (chosen: ChosenPassword) => Promise<void>

/** Rules for new passwords, in addition to ours. */
export interface PasswordRules {
  /** The app's name, as its users know it. Rejected as a password, also with a few digits. */
  readonly appName?: string | undefined
  /** Checks new passwords, such as `breachedPasswords()`. Never called at sign-in. */
  readonly checkPassword?: CheckPassword | undefined
}

/** Returns the rules of `emailPassword()` in a definition; null without that plugin. */
export function passwordRulesOf(plugins: readonly AuthPlugin[]): PasswordRules | null {
  return plugins.find(hasSettings)?.settings ?? null
}

/** Returns the settings of an `emailPassword()`. @throws ConfigurationError for another plugin */
export function settingsOf(plugin: AuthPlugin): Settings {
  if (hasSettings(plugin)) return plugin.settings
  throw new ConfigurationError(`${plugin.id}: pass the plugin that emailPassword() returned.`)
}

function hasSettings(plugin: AuthPlugin): plugin is AuthPlugin & { settings: Settings } {
  return plugin.id === 'email-password' && 'settings' in plugin
}

/** The rate limits of `emailPassword()`. Successful sign-ins don't use them up. */
export interface AttemptLimits {
  /**
   * Passwords for an account, of all unknown browsers together, and of each known one; of a signed-in user,
   * per session and network, and five times that per user. @default 10 in 15 minutes
   */
  readonly account: RateLimit
  /**
   * Sign-ins of unknown browsers, sign-ups, changes of usernames, uses of links, and requests for email, per
   * address or IPv6 /64; ten times that per /48. @default 100 in 15 minutes
   */
  readonly address: RateLimit
  /**
   * Emails that strangers request, per recipient and network; other emails, per browser or user.
   * @default 5 in an hour
   */
  readonly email: RateLimit
  /** Emails to one address that unknown devices on all networks request together. @default 20 in an hour */
  readonly mailbox: RateLimit
}

export const DEFAULT_LIMITS: AttemptLimits = {
  account: { points: 10, duration: 15 * 60 },
  address: { points: 100, duration: 15 * 60 },
  email: { points: 5, duration: 60 * 60 },
  mailbox: { points: 20, duration: 60 * 60 },
}

/** The options of `emailPassword()`. */
export interface EmailPasswordOptions extends PasswordRules {
  /** Sends all emails. Without it, the endpoints that need it fail with 501 `EMAIL_UNAVAILABLE`. */
  readonly sendEmail?: SendEmail
  /**
   * Sends the former address a link, valid for 7 days, that undoes a change of the email. Anyone who can read
   * that mailbox can use it. @default true
   */
  readonly undoEmailChange?: boolean
  /**
   * Users sign in only once they have opened the link in the verification email. Until then, sign-up and
   * sign-in with the right password send it and respond with 403 `EMAIL_NOT_VERIFIED`. Sign-up responds the
   * same if the email is taken, and its owner gets a notice; only a sign-in after it reveals that. Needs
   * `sendEmail`. @default false
   */
  readonly requireVerified?: boolean
  /**
   * Users can have a unique username, and sign in with it instead of their email. Adds `getUsername` and
   * `changeUsername`. Sign-up takes a `username` too, unless `requireVerified` is on: whether the username is
   * taken afterwards would reveal whether the email was. @default false
   */
  readonly usernames?: boolean
  readonly limits?: Partial<AttemptLimits>
  /**
   * Kinds of password hashes that another library has stored in `account`. Sign-in replaces them with
   * argon2id, unless the tables have the app's `names`: then the other library may still read them. Each kind
   * adds its work to every sign-in, which hides the accounts that have one.
   * @default none
   * @example emailPassword({ otherHashes: ['better-auth', 'bcrypt'] })
   */
  readonly otherHashes?: readonly (OtherHashName | OtherHash)[]
}

export interface Settings extends EmailPasswordOptions {
  readonly others: readonly OtherHash[]
  readonly limits: AttemptLimits
  readonly undoEmailChange: boolean
}

export function requireEmail(sendEmail: SendEmail | undefined): SendEmail {
  if (sendEmail === undefined) throw emailPasswordError('EMAIL_UNAVAILABLE')
  return sendEmail
}

type NewPassword = Pick<ChosenPassword, 'user'> & {
  rules: PasswordRules
  now: Date
  onEvent: EventListener | undefined
  /** @default 'unknown' */
  requester?: Requester
}

/** Checks and hashes a password. @throws EndpointError `PASSWORD_TOO_COMMON`, or from `checkPassword` */
export async function hashNewPassword(
  password: string,
  { user, rules: { appName, checkPassword }, now, onEvent, requester }: NewPassword,
): Promise<string> {
  if (isMadeOfContext(password, { ...user, appName }) || (await isCommonPassword(password)))
    throw emailPasswordError('PASSWORD_TOO_COMMON')
  const event = { type: 'email-password:check-skipped', at: now, userId: user.id, actorId: null } as const
  const reportSkipped = (cause: string) => emit({ ...event, detail: { cause } }, onEvent)
  await checkPassword?.({ password, user, reportSkipped })
  return hashPassword(password, requester)
}
