import type { AuthConfig } from '../config.ts'
import { withDeadline } from '../protocol/deadline.ts'
import type { SessionReader } from './session.ts'

/** Returns whether both steps can decide now, for health checks. Never throws. */
export async function isReady(config: AuthConfig, sessions: SessionReader): Promise<boolean> {
  const probe = { sessionId: 'health-check', userId: 'health-check' }
  try {
    await withDeadline(config.issuers[0].jwks.ready(), config.lookupTimeoutMs)
    await withDeadline(Promise.resolve(sessions.findSession(probe)), config.lookupTimeoutMs)
    return true
  } catch {
    return false
  }
}
