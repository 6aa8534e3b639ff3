import { toClientError } from './auth-client-error.ts'
import { MAX_TIMER_MS, pause } from './back-off.ts'
import { clientSession, type SessionClient, type SessionStore } from './client-session.ts'
import { accept, inTurn } from './credentials.ts'
import { isTokenResponse } from './receipt.ts'
import { createRefresher } from './refresh.ts'
import { followSession } from './schedule-refresh.ts'
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
    store.emit({ type: 'stale' })
  const getState = () => store.get().shown
  let listeners = 0
  let stop = () => {}
  let stoppedAt = Number.POSITIVE_INFINITY
  const refresher = createRefresher(store, () => listeners > 0)
  const { refresh } = refresher

  const shown = {
    getState,
    getServerState: () => store.hydrated().shown,
    subscribe(listener: () => void) {
      const hasGap = !listeners && performance.now() - stoppedAt > MAX_GAP_MS
      if (hasGap && options.tabs.listen) store.emit({ type: 'stale' })
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
    async signOut() {
      if (getState().status !== 'signing-out') {
        store.emit({ type: 'signing-out' })
        void refresh()
      }
      // With a listener, the client retries.
      const unsubscribe = shown.subscribe(() => {})
      while (getState().status === 'signing-out') await pause(MAX_TIMER_MS, store.subscribe)
      unsubscribe()
      return getState()
    },
  }

  return {
    ...shown,
    [clientSession]: {
      ...store,
      ...refresher,
      ...shown,
      isSuperseded: (rejected) => inTurn(store, async () => store.get().seq > rejected),
      change: (call) =>
        inTurn(store, async () => {
          const response = await call()
          if (isTokenResponse(response)) await accept(store, response, { ...store.get(), isNew: true })
          return response
        }).catch((cause) => {
          const error = toClientError(cause)
          // The browser may have stored the cookies of a response whose body was lost. Errors set no cookies.
          if (error.status < 300) {
            store.emit({ type: 'stale' })
            refresh()
          }
          throw error
        }),
    },
  }
}
