import type { EmailUser } from '../email-user.ts'

interface EmailFields {
  readonly to: string
  /** The user whom the email is about. */
  readonly user: EmailUser
}

export interface LinkEmail extends EmailFields {
  /**
   * The page must call `verifyEmail` for the first two, and ask for the password if that fails with
   * `INVALID_CREDENTIALS`; `resetPassword` for the last.
   */
  readonly kind: 'verify-email' | 'change-email' | 'reset-password'
  /** For the link. Put it behind a `#`, which browsers never send: `https://example.com/reset#token=...` */
  readonly token: string
  readonly expiresAt: Date
}

/**
 * Reports a change, in case someone else made it. `sign-up-taken` reports a sign-up with the address of an
 * account, if `requireVerified` hides that from its response. The user may have forgotten the account.
 */
export type NoticeEmail = EmailFields & {
  readonly kind: 'password-changed' | 'username-changed' | 'sign-up-taken'
}

/** Informs the former address that the account uses another one. */
export type EmailChangedEmail = EmailFields & { readonly kind: 'email-changed' } & (
    | {
        /** For a link to a page that calls `undoEmailChange`. Put it behind a `#`: see {@link LinkEmail}. */
        readonly token: string
        readonly expiresAt: Date
      }
    /**
     * The change can't be undone: `undoEmailChange` is false, the former address wasn't verified, or this
     * change itself undid one.
     */
    | { readonly token: null; readonly expiresAt: null }
  )

/** Reports a sign-in from a browser that the account doesn't know. */
export interface NewSignInEmail extends EmailFields {
  readonly kind: 'new-sign-in'
  readonly at: Date
  /** The client's address; null if unknown. */
  readonly address: string | null
  /** Such as `Firefox on macOS`. It comes from the client, which can send any text: escape it. */
  readonly device: string | null
}

export type Email = LinkEmail | NoticeEmail | EmailChangedEmail | NewSignInEmail

/** Sends an email, in the app's words and language. */
export type SendEmail = (email: Email) => Promise<unknown>
