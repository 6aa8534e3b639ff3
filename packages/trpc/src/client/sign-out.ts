import { ENDPOINTS } from '@sallyport/core/protocol'
import { clientError, isRejection, isSignedOut, toClientError } from './auth-client-error.ts'
import { backOff, pause } from './back-off.ts'
import type { SessionStore } from './client-session.ts'
import { catchUp, end } from './credentials.ts'
import { onFocus } from './focus.ts'

/** Signs out: retries until the server confirms or rejects it, and stops if another user signs in. */
export async function signOut(store: SessionStore): Promise<void> {
  const { get, dispatch, tabs, fetchEndpoint } = store
  const { status } = get().shown
  dispatch({ type: 'signing-out' })
  const { revision } = get()
  const isOver = () => get().revision !== revision

  // React renders in a microtask: the page drops the user's data before the request is sent.
  await null
  while (!isOver()) {
    const error = await tabs
      .exclusively(async () => {
        await catchUp(store)
        if (isOver()) return
        const response = await fetchEndpoint(ENDPOINTS.signOut)
        if (!('success' in response)) throw clientError('UNKNOWN')
      })
      .then(() => clientError('SESSION_NOT_FOUND'), toClientError)
    // Another tab has signed the same user out, or another user has signed in.
    if (isOver()) return
    if (isSignedOut(error)) return end(store, error)
    if (isRejection(error)) return dispatch({ type: 'failed', error, status })
    dispatch({ type: 'failed', error })
    await pause(backOff(get().failures, error.retryAfterSeconds), onFocus)
  }
}
