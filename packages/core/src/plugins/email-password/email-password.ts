import type { AuthPlugin } from '../../endpoints/definition.ts'
import type { RevocationCause } from '../../events/event.ts'
import { rateLimits } from '../internal.ts'
import { type AttemptLimits, DEFAULT_LIMITS } from './attempts.ts'
import { changePassword } from './change-password.ts'
import { deleteLinks } from './links.ts'
import { dummyHash } from './password.ts'
import { EMAIL_PASSWORD_ERRORS } from './reasons.ts'
import { reauthenticate } from './reauthenticate.ts'
import { requestPasswordReset, resetPassword } from './reset-password.ts'
import type { SendEmail } from './send-email.ts'
import type { PasswordRules, Settings } from './settings.ts'
import { signInEmail } from './sign-in.ts'
import { signUpEmail } from './sign-up.ts'
import { migrations, withOwnTables } from './tables.ts'
import { undoEmailChange } from './undo-email-change.ts'
import { changeEmail, sendVerificationEmail, verifyEmail } from './verify-email.ts'

/** A session that ended for one of these may have been in an attacker's hands. */
const SUSPECT: ReadonlySet<RevocationCause> = new Set(['revoked', 'revoked-by-admin', 'token-replayed'])

/** Options of {@link emailPassword}. */
export interface EmailPasswordOptions extends PasswordRules {
  /** Sends all emails. Without it, the endpoints that need it fail with 501 `EMAIL_UNAVAILABLE`. */
  readonly sendEmail?: SendEmail
  /**
   * Send the former address a link that undoes a change of the email, valid for 7 days. Anyone who reads the
   * mail of that address can use it.
   * @default true
   */
  readonly undoEmailChange?: boolean
  /** Rate limits. Each has a default. */
  readonly limits?: Partial<AttemptLimits>
}

/** The endpoints of {@link emailPassword}, by method name. */
export type EmailPasswordEndpoints = {
  readonly signUpEmail: ReturnType<typeof signUpEmail>
  readonly signInEmail: ReturnType<typeof signInEmail>
  readonly reauthenticate: ReturnType<typeof reauthenticate>
  readonly changePassword: ReturnType<typeof changePassword>
  readonly requestPasswordReset: ReturnType<typeof requestPasswordReset>
  readonly resetPassword: ReturnType<typeof resetPassword>
  readonly sendVerificationEmail: ReturnType<typeof sendVerificationEmail>
  readonly verifyEmail: ReturnType<typeof verifyEmail>
  readonly changeEmail: ReturnType<typeof changeEmail>
  readonly undoEmailChange: ReturnType<typeof undoEmailChange>
}

/**
 * Adds sign-up, sign-in, and recovery by email and password.
 *
 * @example emailPassword({ sendEmail: async ({ kind, to, ...email }) => mailer.send(to, texts[kind](email)) })
 */
export function emailPassword(
  options: EmailPasswordOptions = {},
): AuthPlugin<EmailPasswordEndpoints, Record<never, never>> {
  const { sendEmail, appName, checkPassword } = options
  const settings: Settings = {
    limits: rateLimits(DEFAULT_LIMITS, options.limits),
    sendEmail,
    undoEmailChange: sendEmail !== undefined && (options.undoEmailChange ?? true),
    appName,
    checkPassword,
  }
  // Started now, so the first sign-in takes no longer than others.
  dummyHash().catch(() => {})
  return {
    id: 'email-password',
    reasons: EMAIL_PASSWORD_ERRORS,
    migrations,
    // An attacker whose copy has just stopped working may have requested a link that moves the account to
    // another address.
    async onChange(event, trx) {
      const isSuspect =
        event.type === 'user.password-changed' ||
        event.type === 'user.banned' ||
        (event.type === 'session.version-changed' && event.cause !== 'email-changed') ||
        (event.type === 'session.revoked' && SUSPECT.has(event.cause))
      if (isSuspect) await deleteLinks(withOwnTables(trx), { userId: event.userId, kinds: ['change-email'] })
    },
    expiringTables: ['verification', 'knownDevice'],
    endpoints: {
      signUpEmail: signUpEmail(settings),
      signInEmail: signInEmail(settings),
      reauthenticate: reauthenticate(settings),
      changePassword: changePassword(settings),
      requestPasswordReset: requestPasswordReset(settings),
      resetPassword: resetPassword(settings),
      sendVerificationEmail: sendVerificationEmail(settings),
      verifyEmail: verifyEmail(settings),
      changeEmail: changeEmail(settings),
      undoEmailChange: undoEmailChange(settings),
    },
  }
}
