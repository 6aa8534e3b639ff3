import type { CallEndpoint } from './call-endpoint.ts'
import { type SessionEvent, type SessionState, transition } from './session-state.ts'
import { createStore, type Store } from './store.ts'
import type { Tabs } from './tabs.ts'
import type { TokenStore, Transport } from './transport.ts'

/** What the effects of a client session share: its state, which only events change, and what they act on. */
export interface SessionStore extends Pick<Store<SessionState>, 'get' | 'subscribe'>, Reach {
  dispatch(event: SessionEvent): void
}

/** What a client session acts on. */
export interface Reach {
  readonly callEndpoint: CallEndpoint
  /** Calls the endpoints with other credentials. */
  reach(transport: Transport): CallEndpoint
  readonly tabs: Tabs
  /** Where the program keeps the tokens itself. */
  readonly tokens: TokenStore | undefined
}

/** Makes the store of a client session. */
export function createSessionStore(first: SessionState, reach: Reach): SessionStore {
  const { get, set, subscribe } = createStore(first)
  return {
    ...reach,
    get,
    subscribe,
    dispatch(event) {
      const next = transition(get(), event)
      if (next !== get()) set(next)
    },
  }
}
