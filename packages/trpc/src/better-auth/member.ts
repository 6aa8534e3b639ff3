/** Returns a member of a value from another library, or undefined. */
export function memberOf(value: unknown, ...path: readonly (string | symbol)[]): unknown {
  let member = value
  for (const name of path) {
    if ((typeof member !== 'object' && typeof member !== 'function') || member === null) return undefined
    member = Reflect.get(member, name)
  }
  return member
}

export function textOf(value: unknown, ...path: readonly (string | symbol)[]): string | undefined {
  const member = memberOf(value, ...path)
  return typeof member === 'string' ? member : undefined
}

/** Returns the engine of Better Auth's database; null for another one, or if an adapter doesn't say which. */
export function engineOf(adapter: object): 'postgres' | 'sqlite' | 'mysql' | null {
  const provider = textOf(adapter, 'options', 'provider') ?? textOf(adapter, 'options', 'type') ?? ''
  if (/^(pg|postgres)/.test(provider)) return 'postgres'
  return provider === 'sqlite' || provider === 'mysql' ? provider : null
}

/** Calls a method of another library's object. */
export function callOf(value: unknown, name: string, argument?: unknown): unknown {
  const method = memberOf(value, name)
  return typeof method === 'function' ? Reflect.apply(method, value, [argument]) : undefined
}
