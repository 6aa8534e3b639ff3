import { emit } from '../../events/emit.ts'
import type { EventListener } from '../../events/event.ts'
import type { AttemptLimits } from './attempts.ts'
import type { CheckPassword, ChosenPassword } from './check-password.ts'
import { isCommonPassword } from './common-passwords.ts'
import { isMadeOfContext } from './context-words.ts'
import { hashPassword } from './password.ts'
import { refuseEmailPassword } from './reasons.ts'
import type { SendEmail } from './send-email.ts'

/** The rules for new passwords that an app adds to ours. */
export interface PasswordRules {
  /** Rejected as a password, also with a few digits. */
  readonly appName?: string | undefined
  /** See {@link CheckPassword}. Never called at sign-in. */
  readonly checkPassword?: CheckPassword | undefined
}

/** What the endpoints of `emailPassword()` share. */
export interface Settings extends PasswordRules {
  readonly limits: AttemptLimits
  readonly sendEmail: SendEmail | undefined
  readonly undoEmailChange: boolean
}

/** Whom a new password is for, and what it must follow. */
export interface NewPassword {
  readonly user: ChosenPassword['user']
  readonly rules: PasswordRules
  readonly now: Date
  readonly onEvent: EventListener | undefined
}

/**
 * The hash of a password that a user has chosen.
 *
 * @throws EndpointError `PASSWORD_TOO_COMMON`, or what `checkPassword` throws
 */
export async function hashNewPassword(
  password: string,
  { user, rules: { appName, checkPassword }, now, onEvent }: NewPassword,
): Promise<string> {
  if (isMadeOfContext(password, { ...user, appName }) || (await isCommonPassword(password)))
    throw refuseEmailPassword('PASSWORD_TOO_COMMON')
  const event = { type: 'email-password:check-skipped', at: now, userId: user.id, actorId: null } as const
  await checkPassword?.({
    password,
    user,
    reportSkipped: (cause) => emit({ ...event, detail: { cause } }, onEvent),
  })
  return hashPassword(password)
}
