import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { isRefusal, isSignedOut, ownError, signedOut, toClientError } from './auth-client-error.ts'
import { backOff } from './back-off.ts'
import { TIMEOUT_MS } from './call-endpoint.ts'
import { catchUp, end } from './credentials.ts'
import { onFocus } from './focus.ts'
import { pause } from './pause.ts'
import type { SessionStore } from './session-store.ts'

/** Signs out, with as many attempts as the server needs to confirm or reject it. It ends early if another user signs in. */
export async function signOut(store: SessionStore): Promise<void> {
  const { get, dispatch, tabs, callEndpoint } = store
  const { status } = get().shown
  dispatch({ type: 'signing-out' })
  const { revision } = get()
  const isOver = () => get().revision !== revision

  // The page shows it and drops what it had before the server is asked: React renders in a microtask.
  await null
  while (!isOver()) {
    const error = await tabs
      .exclusively(async () => {
        await catchUp(store)
        if (isOver()) return
        const response = await callEndpoint(ENDPOINTS.signOut, {}, undefined, TIMEOUT_MS)
        if (!('success' in response)) throw ownError('UNKNOWN', 200)
      })
      .then(signedOut, toClientError)
    // Another tab has signed the same user out, or another user has signed in.
    if (isOver()) return
    if (isSignedOut(error)) return end(store, error)
    if (isRefusal(error)) return dispatch({ type: 'failed', error, status })
    dispatch({ type: 'failed', error })
    await pause(backOff(get().failures, error.retryAfterSeconds), onFocus)
  }
}
