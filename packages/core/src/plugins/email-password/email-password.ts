import type { AuthTransaction } from '../../database/session-database.ts'
import type { AuthPlugin } from '../../endpoints/definition.ts'
import type { RevocationCause } from '../../events/event.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import { toMailboxes } from '../email-user.ts'
import { rateLimits } from '../internal.ts'
import { hasVerifiedEmail } from '../usable-accounts.ts'
import { hasPassword } from './accounts.ts'
import { changeEmail, undoEmailChange } from './change-email.ts'
import { knownDevices } from './known-device.ts'
import { deleteLinks, rejectReserved } from './links.ts'
import { otherHashes } from './other-hashes.ts'
import { changePassword, reauthenticate } from './own-password.ts'
import { dummyHash } from './password.ts'
import { requestPasswordReset, resetPassword } from './reset-password.ts'
import {
  DEFAULT_LIMITS,
  EMAIL_PASSWORD_ERRORS,
  type EmailPasswordOptions,
  type Settings,
} from './settings.ts'
import { signInEmail } from './sign-in.ts'
import { signUpEmail } from './sign-up.ts'
import { migrations } from './tables.ts'
import { changeUsername, getUsername } from './usernames.ts'
import { sendVerificationEmail, verifyEmail } from './verify-email.ts'

/** A session that ended for one of these may have been in an attacker's hands. */
const SUSPECT: ReadonlySet<RevocationCause> = new Set(['revoked', 'revoked-by-admin', 'token-replayed'])

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

export type UsernameEndpoints = {
  readonly getUsername: typeof getUsername
  readonly changeUsername: ReturnType<typeof changeUsername>
}

/**
 * Adds sign-up, sign-in, and recovery by email and password.
 * @throws ConfigurationError if a limit isn't positive, or `requireVerified` lacks `sendEmail`
 * @example emailPassword({ sendEmail: ({ kind, to, ...email }) => mailer.send(to, texts[kind](email)) })
 */
export function emailPassword(
  options: EmailPasswordOptions & { readonly usernames: true },
): AuthPlugin<EmailPasswordEndpoints & UsernameEndpoints, Record<never, never>>
export function emailPassword(
  options?: EmailPasswordOptions,
): AuthPlugin<EmailPasswordEndpoints, Record<never, never>>
export function emailPassword(
  options: EmailPasswordOptions = {},
): AuthPlugin<EmailPasswordEndpoints, Record<never, never>> {
  const { sendEmail } = options
  const settings: Settings = {
    ...options,
    ...(sendEmail !== undefined && { sendEmail: toMailboxes(sendEmail) }),
    others: otherHashes(options.otherHashes),
    limits: rateLimits(DEFAULT_LIMITS, options.limits),
    undoEmailChange: sendEmail !== undefined && (options.undoEmailChange ?? true),
  }
  if (options.requireVerified && sendEmail === undefined)
    throw new ConfigurationError('emailPassword: requireVerified needs sendEmail. Pass both.')
  // For the command line and `anonymous()`: see `passwordRulesOf` and `settingsOf`.
  const ofOthers = { settings }
  /** Whose links a change has voided: thousands of their sessions may end in it. */
  const voided = new WeakMap<AuthTransaction, string>()
  // Started now, so the first sign-in takes no longer than others.
  dummyHash().catch(() => {})
  return {
    ...ofOthers,
    id: 'email-password',
    reasons: EMAIL_PASSWORD_ERRORS,
    migrations,
    async onChange(event, trx) {
      if (event.type === 'user.created' && settings.undoEmailChange)
        await rejectReserved(trx, { userId: event.userId, now: event.at })
      // An attacker whose copy has just stopped working may have requested a link that moves the account.
      const isSuspect =
        event.type === 'user.password-changed' ||
        event.type === 'user.banned' ||
        (event.type === 'session.version-changed' && event.cause !== 'email-changed') ||
        (event.type === 'session.revoked' && SUSPECT.has(event.cause))
      if (!isSuspect || voided.get(trx) === event.userId) return
      await deleteLinks(trx, { userId: event.userId, kinds: ['change-email'] })
      voided.set(trx, event.userId)
    },
    expiringTables: ['verification', 'knownDevice'],
    canSignIn: async (userId, db) =>
      (await hasPassword(userId, db)) && (!options.requireVerified || (await hasVerifiedEmail(userId, db))),
    browsers: knownDevices(settings),
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
      ...(options.usernames === true && { getUsername, changeUsername: changeUsername(settings) }),
    },
  }
}
