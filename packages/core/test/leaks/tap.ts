/** Called whenever the method is called. */
interface Listener {
  before?(args: unknown[], owner: unknown): void
  after?(result: unknown, args: unknown[], owner: unknown): void
}

/**
 * Wraps a method, and reports its arguments and result. Not a spy: tests that restore their spies would
 * remove it.
 *
 * @param kind `get` for an accessor, whose result is the value
 */
export function tap(owner: object, name: string, listener: Listener, kind: 'value' | 'get' = 'value'): void {
  const descriptor = findDescriptor(owner, name)
  const method: unknown = descriptor?.[kind]
  if (typeof method !== 'function') throw new TypeError(`There is no ${name} to listen to`)

  function tapped(this: unknown, ...args: unknown[]): unknown {
    listener.before?.(args, this)
    const result: unknown = Reflect.apply(method as () => unknown, this, args)
    listener.after?.(result, args, this)
    return result
  }
  Object.defineProperty(owner, name, { ...descriptor, configurable: true, [kind]: tapped })
}

/** Finds the method, which may be inherited. Then only this object is tapped. */
function findDescriptor(owner: object, name: string): PropertyDescriptor | undefined {
  for (let holder: object | null = owner; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const descriptor = Object.getOwnPropertyDescriptor(holder, name)
    if (descriptor !== undefined) return descriptor
  }
  return undefined
}
