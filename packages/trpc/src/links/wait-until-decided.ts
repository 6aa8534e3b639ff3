import { type AuthClientError, clientError, isDecided } from '../client/auth-client-error.ts'
import type { LinkSession } from './link-session.ts'

/** Returns the error once waiting can't change the state, or on abort. Listens, so the client retries. */
export function waitUntilDecided(session: LinkSession, signal: AbortSignal): Promise<AuthClientError | null> {
  return new Promise((resolve) => {
    const check = () => {
      const { status, error } = session.getState()
      const isSignedOut = status === 'unauthenticated'
      const isSettled = error ? isDecided(error) : status === 'authenticated'
      if (!isSignedOut && !isSettled && !signal.aborted) return
      unsubscribe()
      resolve(isSignedOut ? clientError('SESSION_NOT_FOUND') : error)
    }
    const unsubscribe = session.subscribe(check)
    signal.onabort = check
    check()
  })
}
