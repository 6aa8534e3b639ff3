/** Who asks, as Step 1 proved it. Says nothing about whether the session still counts. */
export interface Identity {
  readonly userId: string
  readonly sessionId: string
  /** The session version in our own JWT; null in a token of another issuer, which owns its sessions. */
  readonly version: number | null
  /** When the JWT expires. */
  readonly expiresAt: Date
  /** Who issued the JWT. */
  readonly issuer: string
  /** The key that signed the JWT. */
  readonly keyId: string
}
