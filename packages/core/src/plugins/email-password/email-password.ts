import type { AuthPlugin } from '../../endpoints/definition.ts'
import type { RevocationCause } from '../../events/event.ts'
import { type AttemptLimits, attemptLimits } from './attempts.ts'
import { changePassword } from './change-password.ts'
import type { CheckPassword } from './check-password.ts'
import { nobodysHash } from './password.ts'
import { REASONS_OF_EMAIL_PASSWORD } from './reasons.ts'
import { reauthenticate } from './reauthenticate.ts'
import { requestPasswordReset, resetPassword } from './reset-password.ts'
import { forgetLinks, type SendEmail } from './send-email.ts'
import { signInEmail } from './sign-in.ts'
import { signUpEmail } from './sign-up.ts'
import { migrations, withOwnTables } from './tables.ts'
import { undoEmailChange } from './undo-email-change.ts'
import { changeEmail, sendVerificationEmail, verifyEmail } from './verify-email.ts'

/** Endings by which someone was put out. */
const SUSPECT: ReadonlySet<RevocationCause> = new Set(['revoked', 'revoked-by-admin', 'token-replayed'])

/** What {@link emailPassword} takes. */
export interface EmailPasswordOptions {
  /** Sends the emails of recovery and verification. Without it those endpoints answer 501 `EMAIL_UNAVAILABLE`. */
  readonly sendEmail?: SendEmail
  /**
   * Send the former address a link that undoes a change of the email, valid for 7 days. Anyone who reads the
   * mail of that address can use it.
   * @default true
   */
  readonly undoEmailChange?: boolean
  /** How often something may be tried; each has a default of its own. */
  readonly limits?: Partial<AttemptLimits>
  /** The app's name, as its users know it. Rejected as a password, also with a few digits. */
  readonly appName?: string
  /** A further check of new passwords, such as `breachedPasswords()`. Never called at sign-in. */
  readonly checkPassword?: CheckPassword
}

/** The endpoints of {@link emailPassword}, by the names of their methods. */
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
 * Sign-up, sign-in and recovery by email and password.
 *
 * @example emailPassword({ sendEmail: async ({ kind, to, ...email }) => mailer.send(to, texts[kind](email)) })
 */
export function emailPassword(
  options: EmailPasswordOptions = {},
): AuthPlugin<EmailPasswordEndpoints, Record<never, never>> {
  const { sendEmail, appName, checkPassword } = options
  const settings = {
    limits: attemptLimits(options.limits),
    sendEmail,
    undoEmailChange: sendEmail !== undefined && (options.undoEmailChange ?? true),
    appName,
    checkPassword,
  }
  // Begun now, so that the first sign-in takes no longer than others.
  nobodysHash().catch(() => {})
  return {
    id: 'email-password',
    reasons: REASONS_OF_EMAIL_PASSWORD,
    migrations,
    // An attacker whose copy has just stopped working may have asked for a link that moves the account to
    // another address.
    async onChange(event, trx) {
      const isSuspect =
        event.type === 'user.password-changed' ||
        event.type === 'user.banned' ||
        (event.type === 'session.version-changed' && event.cause !== 'email-changed') ||
        (event.type === 'session.revoked' && SUSPECT.has(event.cause))
      if (isSuspect) await forgetLinks(withOwnTables(trx), { userId: event.userId, kinds: ['change-email'] })
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
