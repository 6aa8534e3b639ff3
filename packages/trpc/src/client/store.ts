export interface Store<Value> {
  get(): Value
  set(next: Value): void
  /** Returns a function that removes the listener and returns whether it existed. */
  subscribe(listener: () => void): () => boolean
}

export function createStore<Value>(value: Value): Store<Value> {
  let current = value
  const listeners = new Set<() => void>()
  return {
    get: () => current,
    set(next) {
      current = next
      // A listener may subscribe again.
      for (const listener of [...listeners]) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
