/** The caller, as Step 1 proved it. Doesn't say whether the session is still valid. */
export interface Identity {
  readonly userId: string
  readonly sessionId: string
  /** The session version in our own JWT; null in a token of another issuer, which owns its sessions. */
  readonly version: number | null
  readonly expiresAt: Date
  readonly issuer: string
  readonly keyId: string
  /** The hash of another library's session cookie, to which our own JWT is bound. */
  readonly cookieHash?: string
}
