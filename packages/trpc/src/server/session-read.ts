import type { AuthConfig, Authenticated, AuthStore, Identity } from '@sallyport/core'
import { keysVersion, validateIdentity } from '@sallyport/core/internal/server'

/** A session that passed both steps. */
export interface SessionRead extends Authenticated {
  readonly store: AuthStore
  /** The revision of the revocation feed before the read. If it has changed, the session may have ended. */
  readonly revision: number
  readonly keysVersion: number
  /** When the read began, on the monotonic clock. */
  readonly readAt: number
}

/** Runs Step 2. */
export async function readSession(
  identity: Identity,
  store: AuthStore,
  config: AuthConfig,
): Promise<SessionRead> {
  const readAt = performance.now()
  const { revision } = store.revocations
  const version = keysVersion(config)
  const session = await validateIdentity(identity, { config, sessions: store.sessions })
  return { identity, store, revision, keysVersion: version, readAt, session }
}

/** Returns whether no session was revoked and no key removed since the read began. */
export function isCurrent(read: SessionRead, store: AuthStore, config: AuthConfig): boolean {
  return read.revision === store.revocations.revision && read.keysVersion === keysVersion(config)
}
