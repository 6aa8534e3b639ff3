import type { AuthConfig } from '../config.ts'
import { withDeadline } from '../protocol/deadline.ts'
import type { SessionReader } from './session.ts'

/** Returns whether both steps can decide now, for health checks. Never throws. */
export async function isReady(config: AuthConfig, sessions: SessionReader): Promise<boolean> {
  try {
    await checkKeys(config)
    await checkLookup(config, sessions)
    return true
  } catch {
    return false
  }
}

/** Waits until Step 1 can verify our own JWTs. @throws AuthError `KEYS_UNAVAILABLE` */
export function checkKeys({ issuers, lookupTimeoutMs }: AuthConfig): Promise<void> {
  return withDeadline(issuers[0].jwks.ready(), lookupTimeoutMs)
}

/** Looks up a session that doesn't exist. Throws whatever makes Step 2 fail. */
export async function checkLookup({ lookupTimeoutMs }: AuthConfig, sessions: SessionReader): Promise<void> {
  const probe = { sessionId: 'health-check', userId: 'health-check' }
  await withDeadline(Promise.resolve(sessions.findSession(probe)), lookupTimeoutMs)
}
