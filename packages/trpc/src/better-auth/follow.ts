import type { Revocation } from '@sallyport/core'

export type Publish = (revocation: Revocation) => void

/** The listeners of each object whose methods were replaced. */
const listenersByTarget = new WeakMap<object, Set<Publish>>()

/**
 * Calls the listener after each change of a shared object that may end or weaken a session, until the
 * returned function is called. Replaces its methods once, for all guards. A change never fails because of a
 * listener.
 */
export function follow(
  target: object,
  listener: Publish,
  replaceMethods: (publish: Publish) => void,
): () => void {
  const listeners = listenersByTarget.get(target) ?? new Set()
  if (!listenersByTarget.has(target)) {
    listenersByTarget.set(target, listeners)
    replaceMethods((revocation) => {
      for (const each of listeners) call(each, revocation)
    })
  }
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function call(listener: Publish, revocation: Revocation): void {
  try {
    listener(revocation)
  } catch (error) {
    console.error('sallyport: a revocation was not published, so its streams end within 5 s:', error)
  }
}
