import type { HydrationState } from '@sallyport/core/internal/protocol'
import { createStore, type SessionStore, type Store } from './client-session.ts'
import { hydrate, type SessionState } from './session-state.ts'

/** The state that a server rendered a page for, or a function that returns it. */
export type RenderedState = HydrationState | (() => HydrationState | undefined) | undefined

interface RenderedStore extends Store<SessionState> {
  /** Returns the state of the first render. */
  getFirst(): SessionState
}

/** Creates the store of a client's state, which begins with the rendered state at its first use. */
export function createSessionStore(
  rendered: RenderedState,
  { server, onUserChange }: Pick<SessionStore, 'server'> & { onUserChange: (() => void) | undefined },
): RenderedStore {
  let opened: (Store<SessionState> & { readonly first: SessionState }) | undefined
  const read = () => hydrate(typeof rendered === 'function' ? rendered() : rendered)
  // The calls of a page may change its state.
  const isLive = server !== false && typeof rendered === 'function'

  function open() {
    if (opened !== undefined) return opened
    const first = read()
    opened = { ...createStore(first), first }
    if (onUserChange) opened.subscribe(onChange(opened, onUserChange))
    return opened
  }

  if (typeof rendered !== 'function') open()
  return {
    get: () => (isLive && !opened ? read() : open().get()),
    getFirst: () => (isLive && !opened ? read() : open().first),
    set: (next) => open().set(next),
    subscribe: (listener) => open().subscribe(listener),
  }
}

/** Returns a listener that calls `onUserChange` once for each change. */
function onChange({ get }: Pick<Store<SessionState>, 'get'>, onUserChange: () => void): () => void {
  let { userChanges } = get().shown
  return () => {
    if (get().shown.userChanges === userChanges) return
    userChanges = get().shown.userChanges
    try {
      onUserChange()
    } catch (error) {
      // The later listeners hide the former user's data.
      console.error(error)
    }
  }
}
