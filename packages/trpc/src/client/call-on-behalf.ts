import { isSessionOver, isTokenReason, type Reason } from '@sallyport/core/protocol'
import { toClientError } from './auth-client-error.ts'
import type { ClientSession } from './client-session.ts'

/**
 * Calls an auth endpoint for whoever is signed in: with a JWT that is fresh, and once more where it is refused nevertheless. Endpoints look
 * at it before they do anything, so that nothing is done twice.
 */
export async function callOnBehalf<Result>(
  session: ClientSession,
  call: () => Promise<Result>,
): Promise<Result> {
  await session.refreshIfDue()
  const { generation } = session
  const { epoch } = session.getState()
  try {
    return await call()
  } catch (error) {
    const { code } = toClientError(error)
    if (isTokenReason(code)) {
      await session.refreshAfter(generation)
      return call()
    }
    if (mayEnd(code)) session.report(code, epoch)
    throw error
  }
}

/** Whether the session may have ended, or its user been banned. */
export function mayEnd(reason: string): reason is Reason {
  return isSessionOver(reason) || reason === 'ACCOUNT_BANNED'
}
