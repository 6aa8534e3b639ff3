import { emit } from '../../events/emit.ts'
import type { EventListener } from '../../events/event.ts'
import type { AttemptLimits } from './attempts.ts'
import { isCommonPassword } from './common-passwords.ts'
import { isMadeOfContext } from './context-words.ts'
import { hashPassword } from './password.ts'
import { emailPasswordError } from './reasons.ts'
import type { SendEmail } from './send-email.ts'

/** A password that a user has chosen. */
export interface ChosenPassword {
  readonly password: string
  /** The id is null at sign-up. */
  readonly user: { readonly id: string | null; readonly name: string; readonly email: string }
  /** Emits `email-password:check-skipped`: the check couldn't run. */
  readonly reportSkipped: (cause: string) => void
}

/**
 * Checks a new password, after our own rules. Return to accept it. To reject it, throw an `EndpointError`
 * from `rejections`: the user sees its message. Any other error is a 500, and the password isn't set.
 *
 * @example
 * const reject = rejections({ PASSWORD_REUSED: { status: 400, message: 'Choose a new password' } })
 * emailPassword({
 *   async checkPassword({ password, user }) {
 *     if (await wasUsed(user.id, password)) throw reject('PASSWORD_REUSED')
 *   },
 * })
 */
export type CheckPassword = (chosen: ChosenPassword) => Promise<void>

/** The rules for new passwords that an app adds to ours. */
export interface PasswordRules {
  /** The app's name, as its users know it. Rejected as a password, also with a few digits. */
  readonly appName?: string | undefined
  /** Checks new passwords, such as `breachedPasswords()`. Never called at sign-in. */
  readonly checkPassword?: CheckPassword | undefined
}

/** The options of `emailPassword()` with their defaults. */
export interface Settings extends PasswordRules {
  readonly limits: AttemptLimits
  readonly sendEmail: SendEmail | undefined
  readonly undoEmailChange: boolean
}

type NewPassword = {
  user: ChosenPassword['user']
  rules: PasswordRules
  now: Date
  onEvent: EventListener | undefined
}

/**
 * Checks and hashes a new password.
 *
 * @throws EndpointError `PASSWORD_TOO_COMMON`, or what `checkPassword` throws
 */
export async function hashNewPassword(
  password: string,
  { user, rules: { appName, checkPassword }, now, onEvent }: NewPassword,
): Promise<string> {
  if (isMadeOfContext(password, { ...user, appName }) || (await isCommonPassword(password)))
    throw emailPasswordError('PASSWORD_TOO_COMMON')
  const event = { type: 'email-password:check-skipped', at: now, userId: user.id, actorId: null } as const
  await checkPassword?.({
    password,
    user,
    reportSkipped: (cause) => emit({ ...event, detail: { cause } }, onEvent),
  })
  return hashPassword(password)
}
