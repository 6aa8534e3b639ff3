import { clientError, isRejection, isSignedOut, toClientError } from './auth-client-error.ts'
import { backOff, pause } from './back-off.ts'
import { clientSession, type SessionClient, type SessionStore } from './client-session.ts'
import { accept, end, inTurn } from './credentials.ts'
import { isTokenResponse } from './receipt.ts'
import { createRefresher } from './refresh.ts'
import { routeOf } from './route-of.ts'
import { followSession, onFocus } from './schedule-refresh.ts'
import { createSessionStore, type RenderedState } from './session-store.ts'

/** React subscribes again at once. After a longer gap, messages of other tabs may be lost. */
const MAX_GAP_MS = 1_000

/** TypeScript doesn't know it yet. */
type PrerenderedPage = Document & { readonly prerendering?: boolean }

interface SessionOptions extends Pick<SessionStore, 'send' | 'tabs' | 'tokens' | 'server'> {
  readonly onUserChange: (() => void) | undefined
}

/** Creates the session of a client, which keeps the JWT fresh while there are listeners. */
export function createClientSession(rendered: RenderedState, options: SessionOptions): SessionClient {
  const store = { ...options, ...createSessionStore(rendered, options) }
  // Before the user opens the page, another user may sign in. A rendered state says how old it is.
  if (!rendered && (globalThis.document as PrerenderedPage | undefined)?.prerendering)
    store.dispatch({ type: 'restored' })
  const getState = () => store.get().shown
  let listeners = 0
  let stop = () => {}
  let stoppedAt = Number.POSITIVE_INFINITY
  let signingOut = Promise.resolve()
  const refresher = createRefresher(store, () => listeners > 0)
  const { refresh } = refresher

  const shown = {
    getState,
    getServerState: () => store.getFirst().shown,
    subscribe(listener: () => void) {
      const hasGap = !listeners && performance.now() - stoppedAt > MAX_GAP_MS
      if (hasGap && options.tabs.listen) store.dispatch({ type: 'restored' })
      // The same listener may subscribe twice.
      const unsubscribe = store.subscribe(() => listener())
      if (!listeners && !options.server) stop = followSession(store, refresh)
      listeners++
      return () => {
        if (!unsubscribe() || --listeners) return
        stop()
        stoppedAt = performance.now()
      }
    },
    refresh,
    signOut() {
      // The sign-out of an earlier user may still be pausing.
      if (getState().status !== 'signing-out') signingOut = signOut(store)
      return signingOut.then(getState)
    },
  }

  return {
    ...shown,
    [clientSession]: {
      ...store,
      ...refresher,
      ...shown,
      change: (call) =>
        inTurn(store, async () => {
          const response = await call()
          if (isTokenResponse(response)) await accept(store, response, { ...store.get(), isNew: true })
          return response
        }).catch((cause) => {
          const error = toClientError(cause)
          // The browser may have stored the cookies of a response whose body was lost. Errors set no cookies.
          if (error.status < 300) {
            store.dispatch({ type: 'restored' })
            refresh()
          }
          throw error
        }),
    },
  }
}

/** Signs out: retries until the server confirms or rejects it, and stops if another user signs in. */
async function signOut(store: SessionStore): Promise<void> {
  const { status } = store.get().shown
  store.dispatch({ type: 'signing-out' })
  const { revision } = store.get()
  const isOver = () => store.get().revision !== revision

  // React renders in a microtask: let the page drop the user's data before the request is sent.
  await null
  while (!isOver()) {
    const error = await inTurn(store, async () => {
      if (isOver()) return
      const response = await store.send(routeOf('signOut'))
      if (!('success' in response)) throw clientError('UNKNOWN')
    }).then(() => clientError('SESSION_NOT_FOUND'), toClientError)
    // Another tab has signed the same user out, or another user has signed in.
    if (isOver()) return
    if (isSignedOut(error)) return end(store, error)
    if (isRejection(error) || store.server) return store.dispatch({ type: 'failed', error, status })
    store.dispatch({ type: 'failed', error })
    await pause(backOff(store.get().failures, error.retryAfterSeconds), onFocus)
  }
}
