import type { AuthConfig } from '../config.ts'
import { withDeadline } from '../protocol/deadline.ts'
import type { SessionReader } from './session-store.ts'

const NOBODY = { sessionId: 'health-check', userId: 'health-check' }

/** Whether both steps can answer now: for health checks. Never throws. */
export async function isReady(config: AuthConfig, sessions: SessionReader): Promise<boolean> {
  try {
    await withDeadline(config.issuers[0].jwks.ready(), config.lookupTimeoutMs)
    await withDeadline(Promise.resolve(sessions.findSession(NOBODY)), config.lookupTimeoutMs)
    return true
  } catch {
    return false
  }
}
