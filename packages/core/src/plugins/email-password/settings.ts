import type { AttemptLimits } from './attempts.ts'
import { isCommonPassword } from './common-passwords.ts'
import { hashPassword } from './password.ts'
import { refuseEmailPassword } from './reasons.ts'
import type { SendEmail } from './send-email.ts'

/** What the endpoints of `emailPassword()` share. */
export interface Settings {
  readonly limits: AttemptLimits
  readonly sendEmail: SendEmail | undefined
}

/**
 * The hash of a password that a user has chosen.
 *
 * @throws EndpointError `PASSWORD_TOO_COMMON`
 */
export async function hashNewPassword(password: string, emailAddress: string): Promise<string> {
  if (await isCommonPassword(password, emailAddress)) throw refuseEmailPassword('PASSWORD_TOO_COMMON')
  return hashPassword(password)
}
