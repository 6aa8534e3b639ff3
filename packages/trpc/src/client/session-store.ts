import type { HydrationState } from '@sallyport/core/internal/protocol'
import { createStore, type SessionStore } from './client-session.ts'
import { hydrate, type SessionState, transition } from './session-state.ts'

/** The state that a server rendered a page for, or a function that returns it. */
export type RenderedState = HydrationState | (() => HydrationState | undefined) | undefined

interface RenderedStore extends Pick<SessionStore, 'get' | 'subscribe' | 'emit'> {
  /** Returns the state of the first render. */
  hydrated(): SessionState
}

/** Creates the store of a client's state, which begins with the rendered state at its first use. */
export function createSessionStore(
  rendered: RenderedState,
  options: Pick<SessionStore, 'server'> & { onUserChange?: (() => void) | undefined },
): RenderedStore {
  const isLazy = typeof rendered === 'function'
  let first = isLazy ? null : hydrate(rendered)
  const changed = createStore<SessionState | null>(null)
  const get = () => changed.get() ?? hydrated()

  function hydrated(): SessionState {
    // On a server, the calls of a page may change what the function returns.
    if (!first || (isLazy && options.server)) first = hydrate(isLazy ? rendered() : rendered)
    return first
  }

  let seen = 0
  changed.subscribe(() => {
    const { userChanges } = get().shown
    if (userChanges === seen) return
    seen = userChanges
    options.onUserChange?.()
  })
  return {
    get,
    hydrated,
    subscribe: changed.subscribe,
    emit(event) {
      const state = get()
      const next = transition(state, event)
      if (next !== state) changed.set(next)
    },
  }
}
