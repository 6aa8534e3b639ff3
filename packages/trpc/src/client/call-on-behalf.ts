import { isSessionOver, isTokenReason, type Reason } from '@sallyport/core/internal/protocol'
import { toClientError } from './auth-client-error.ts'
import type { ClientSession } from './client-session.ts'

/**
 * Calls an auth endpoint for the current user, with a fresh JWT, and again after a rejection of that JWT.
 * Endpoints verify the JWT before they do anything, so nothing runs twice.
 */
export async function callOnBehalf(session: ClientSession, call: () => Promise<object>): Promise<object> {
  await session.refreshIfDue()
  const { userChanges } = session.getState()
  for (let isReplay = false; ; isReplay = true) {
    const { generation } = session
    try {
      return await call()
    } catch (error) {
      const { code } = toClientError(error)
      if (mayEnd(code)) session.report(code, userChanges)
      if (!isTokenReason(code)) throw error
      if (!isReplay) await session.refreshAfter(generation)
      // The JWT was superseded between its refresh and the call.
      else if (!(await session.isOvertaken(generation))) throw error
    }
  }
}

/** Whether the session may have ended, or its user been banned. */
export function mayEnd(reason: string): reason is Reason {
  return isSessionOver(reason) || reason === 'ACCOUNT_BANNED'
}
