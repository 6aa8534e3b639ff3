import type { HydrationState } from '@sallyport/core/internal/protocol'
import type { AuthState } from './auth-state.ts'
import type { ClientSession } from './client-session.ts'
import { accept, catchUp, followTabs } from './credentials.ts'
import { hydrate } from './hydrate.ts'
import { isTokenResponse } from './receipt.ts'
import { createRefresher, type Refresher } from './refresh.ts'
import { scheduleRefresh } from './schedule-refresh.ts'
import { type SessionEvent, transition } from './session-state.ts'
import type { SessionStore } from './session-store.ts'
import { signOut } from './sign-out.ts'
import { createStore } from './store.ts'

/** A client session, and what the client itself does with it. */
export interface OwnedClientSession extends ClientSession, Pick<Refresher, 'refresh'> {
  /** Runs a call that may change who is signed in, while no other tab does, and takes over its response. */
  change(call: () => Promise<object>): Promise<object>
  /** Never rejects: the state says how it went. */
  signOut(): Promise<AuthState>
}

/** Knows who is signed in, and keeps the JWT fresh while there are listeners. Nothing begins before the first listener or call. */
export function createClientSession({
  rendered,
  ...given
}: Omit<SessionStore, 'get' | 'subscribe' | 'dispatch'> & {
  /** What the server rendered. */
  rendered: HydrationState | undefined
}): OwnedClientSession {
  const { get, set, subscribe } = createStore(hydrate(rendered))
  const { tabs } = given
  const store = { ...given, get, subscribe, dispatch }
  const getState = () => get().shown
  let listeners = 0
  let stop: (() => void) | null = null
  let signingOut: Promise<void> | null = null
  const { abort, ...refresher } = createRefresher(store, () => stop !== null)
  const { refresh } = refresher

  function dispatch(event: SessionEvent): void {
    const next = transition(get(), event)
    if (next !== get()) set(next)
  }

  function start(): () => void {
    const unfollow = followTabs(store, refresh)
    const unschedule = scheduleRefresh(store, refresh)
    return () => {
      unfollow?.()
      unschedule()
    }
  }

  return {
    ...store,
    ...refresher,
    get generation() {
      return get().generation
    },
    getState,
    subscribe(listener) {
      // The same listener may subscribe twice.
      const unsubscribe = subscribe(() => listener())
      listeners++
      stop ??= start()
      return () => {
        if (!unsubscribe() || --listeners > 0) return
        stop?.()
        stop = null
      }
    },
    async isOvertaken(rejected) {
      await tabs.exclusively(() => catchUp(store))
      return get().generation > rejected
    },
    change: (call) =>
      tabs.exclusively(async () => {
        await catchUp(store)
        const response = await call()
        if (isTokenResponse(response))
          await accept(store, response, { revision: get().revision, isNew: true })
        return response
      }),
    signOut() {
      if (signingOut === null) abort()
      signingOut ??= signOut(store).finally(() => {
        signingOut = null
      })
      return signingOut.then(getState)
    },
  }
}
