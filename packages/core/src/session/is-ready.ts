import type { AuthConfig } from '../config.ts'
import { withDeadline } from '../protocol/deadline.ts'
import type { AuthAdapter } from './adapter.ts'

const NOBODY = { sessionId: 'health-check', userId: 'health-check' }

/** Whether both steps can answer now: for health checks. Never throws. */
export async function isReady(config: AuthConfig, adapter: AuthAdapter): Promise<boolean> {
  try {
    await withDeadline(config.issuers[0].jwks.ready(), config.lookupTimeoutMs)
    await withDeadline(Promise.resolve(adapter.findSession(NOBODY)), config.lookupTimeoutMs)
    return true
  } catch {
    return false
  }
}
