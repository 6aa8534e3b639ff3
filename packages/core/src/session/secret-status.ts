import { isInGrace } from './lifetime.ts'
import { hashSecret, versionOfSecret } from './secret.ts'
import type { SessionToken } from './session-store.ts'

/**
 * What a secret is to a session.
 * - `current`
 * - `previous`: rotated out by a refresh a moment ago, and still valid
 * - `replayed`: rotated out earlier, so two parties hold secrets of this session
 * - `superseded`: from before the user last proved who they are. A copy that was left behind, which is
 *   harmless
 * - `unknown`: not issued by us for this session
 */
export type SecretStatus = 'current' | 'previous' | 'replayed' | 'superseded' | 'unknown'

/** The columns of a session that decide about a secret. */
type SecretColumns = Pick<
  SessionToken,
  'token' | 'previousToken' | 'rotatedAt' | 'tokenFamily' | 'provedVersion'
>

/**
 * Returns what a secret is to a session. Compares hashes, so the time this takes says nothing about the
 * secret.
 */
export async function secretStatus(secret: string, session: SecretColumns, now: Date): Promise<SecretStatus> {
  const hash = await hashSecret(secret)
  if (hash === session.token) return 'current'
  if (hash === session.previousToken && isInGrace(session.rotatedAt, now)) return 'previous'
  if (session.tokenFamily === null) return 'unknown'
  const version = await versionOfSecret(secret, session.tokenFamily)
  if (version === null) return 'unknown'
  return version < session.provedVersion ? 'superseded' : 'replayed'
}
