import { isInGrace } from './lifetime.ts'
import { hashSecret, versionOfSecret } from './secret.ts'
import type { SessionToken } from './session-store.ts'

/**
 * What a secret is to a session.
 * - `current`
 * - `previous`: a refresh rotated it out a moment ago, and it is still valid
 * - `replayed`: rotated out earlier, so two parties hold secrets of this session
 * - `superseded`: from before the user last proved who they are, so a harmless leftover copy
 * - `unknown`: not issued by us for this session
 */
export type SecretStatus = 'current' | 'previous' | 'replayed' | 'superseded' | 'unknown'

type SecretColumns = Pick<
  SessionToken,
  'token' | 'previousToken' | 'rotatedAt' | 'tokenFamily' | 'provedVersion'
>

/** Returns what a secret is to a session. Compares hashes, so its timing says nothing about the secret. */
export async function secretStatus(secret: string, session: SecretColumns, now: Date): Promise<SecretStatus> {
  const hash = await hashSecret(secret)
  if (hash === session.token) return 'current'
  if (hash === session.previousToken && isInGrace(session.rotatedAt, now)) return 'previous'
  if (session.tokenFamily === null) return 'unknown'
  const version = await versionOfSecret(secret, session.tokenFamily)
  if (version === null) return 'unknown'
  return version < session.provedVersion ? 'superseded' : 'replayed'
}
