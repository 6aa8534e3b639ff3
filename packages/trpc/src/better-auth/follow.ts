import type { Revocation } from '@sallyport/core'

export type Publish = (revocation: Revocation) => void

/** The listeners of each object whose methods were replaced. */
const listenersByTarget = new WeakMap<object, Set<Publish>>()

/**
 * Calls the listener after each change of a shared object that may end or weaken a session. Replaces the
 * object's methods once, for all guards. A listener that throws never fails a change. The returned function
 * removes the listener.
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

/** Replaces a method of a shared object. One that can't be replaced stays: streams end with their lease. */
export function replaceMethod<Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
  method: Target[Name],
): void {
  if (isSet(target, name, method) || hasWarned) return
  hasWarned = true
  console.warn(
    `sallyport: ${String(name)} of Better Auth's adapter or storage can't be followed, because its object is frozen. A live stream ends up to 5 s after its session.`,
  )
}

let hasWarned = false

function isSet(target: object, name: PropertyKey, value: unknown): boolean {
  try {
    const descriptor = { value, configurable: true, enumerable: true, writable: true }
    return Reflect.set(target, name, value) || Reflect.defineProperty(target, name, descriptor)
  } catch {
    return false
  }
}

function call(listener: Publish, revocation: Revocation): void {
  try {
    listener(revocation)
  } catch (error) {
    console.error('sallyport: a revocation was not published, so its streams end within 5 s:', error)
  }
}
