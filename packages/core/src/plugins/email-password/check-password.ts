/** A password that a user has chosen, for {@link CheckPassword}. */
export interface ChosenPassword {
  readonly password: string
  /** The user whom it is for. The id is null at sign-up. */
  readonly user: { readonly id: string | null; readonly name: string; readonly email: string }
  /** Tells `onEvent` that the check couldn't run: `email-password:check-skipped`. */
  readonly reportSkipped: (cause: string) => void
}

/**
 * Checks a password when it is chosen, after our own rules. Return to accept it. To reject it, throw an
 * `EndpointError` from `rejections`: the user sees its message. Any other error is a 500, and the password
 * isn't set.
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
