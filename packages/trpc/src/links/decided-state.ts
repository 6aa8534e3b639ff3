import { isDecided } from '../client/auth-client-error.ts'
import type { AuthState } from '../client/auth-state.ts'
import type { ClientSession } from '../client/client-session.ts'

/**
 * Resolves when there is an answer that stands: signed in without an error, signed out, or an error that waiting does not change. A call
 * that is over lets go, and is never told.
 */
export function decidedState(
  session: Pick<ClientSession, 'get' | 'getState' | 'subscribe'>,
  over: AbortSignal,
): Promise<AuthState> {
  return new Promise((resolve) => {
    const check = () => {
      const shown = session.getState()
      const isOfPage = shown.error !== null && shown.error === session.get().pageError
      const state = isOfPage ? { ...shown, error: null } : shown
      if (!stands(state)) return
      unsubscribe()
      resolve(state)
    }
    // Whoever waits listens: it is what keeps the client asking.
    const unsubscribe = session.subscribe(check)
    over.addEventListener('abort', unsubscribe)
    check()
  })
}

function stands({ status, error }: AuthState): boolean {
  return status === 'unauthenticated' || (error === null ? status === 'authenticated' : isDecided(error))
}
