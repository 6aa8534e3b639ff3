import type { Reason } from '@sallyport/core'

export type Outcome = 'accepted' | 'INVALID_CREDENTIALS' | 'SESSION_SECRET_REQUIRED' | Reason
export interface Key {
  state: 'trusted' | 'retired' | 'leaked'
}
export interface Session {
  version: number
  /** The version at the last proof of who the user is. */
  provedVersion: number
  /** When a refresh last rotated the secret. */
  rotatedAt: number | null
  readonly createdAt: number
  expiresAt: number
  seenAt: number
  isDeleted: boolean
}
export type Secret = { readonly session: Session; readonly version: number }
export type Jwt = Secret & { readonly expiresAt: number; readonly key: Key }
export type Credentials = { readonly jwt: Jwt | null; readonly secret: Secret | null }
/** A node, and whether it rotates secrets or can't read sessions. */
export type ModelNode = { readonly rotates: boolean; isUnreadable: boolean }
export interface Model {
  now: number
  key: Key
  /** When the ban ends, or null without one. */
  bannedUntil: number | null
  readonly sessions: Session[]
  isReadOnly: boolean
}
/** An outcome, and what it changes in the database. */
export type Verdict = { readonly outcome: Outcome; readonly change?: () => void; readonly version?: number }
