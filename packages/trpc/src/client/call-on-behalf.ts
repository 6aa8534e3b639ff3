import type { Reason } from '@sallyport/core/protocol'
import { AuthClientError } from './auth-client-error.ts'
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
    if (!(error instanceof AuthClientError)) throw error
    if (isTokenReason(error.code)) {
      await session.refreshAfter(generation)
      return call()
    }
    if (mayEnd(error.code)) session.report(error.code, epoch)
    throw error
  }
}

/** Whether a new JWT may help. */
export function isTokenReason(reason: string): boolean {
  return reason.startsWith('TOKEN_')
}

/** Whether the session may have ended, or its user been banned. */
export function mayEnd(reason: string): reason is Reason {
  return /^(SESSION_(NOT_FOUND|EXPIRED)|ACCOUNT_BANNED)$/.test(reason)
}
