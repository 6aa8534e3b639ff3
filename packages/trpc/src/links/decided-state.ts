import { isDecided } from '../client/auth-client-error.ts'
import type { AuthState } from '../client/auth-state.ts'
import type { ClientSession } from '../client/client-session.ts'

/**
 * Resolves when the client is signed in without an error, signed out, or has an error that waiting doesn't change.
 * Listens until then, so the client keeps retrying; never resolves after an abort.
 */
export function decidedState(
  session: Pick<ClientSession, 'get' | 'getState' | 'subscribe'>,
  signal: AbortSignal,
): Promise<AuthState> {
  return new Promise((resolve) => {
    const check = () => {
      const shown = session.getState()
      const isPageError = shown.error !== null && shown.error === session.get().pageError
      const error = isPageError ? null : shown.error
      const isSettled = error === null ? shown.status === 'authenticated' : isDecided(error)
      if (shown.status !== 'unauthenticated' && !isSettled) return
      unsubscribe()
      resolve({ ...shown, error })
    }
    const unsubscribe = session.subscribe(check)
    signal.addEventListener('abort', unsubscribe)
    check()
  })
}
