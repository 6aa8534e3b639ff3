import { isObservable } from '@trpc/server/observable'
import { type GuardOptions, guardIterable, guardObservable, guardPromise } from './guard-stream.ts'

/**
 * Returns the output of a resolver with every stream in it guarded, or the same output if nothing in it
 * streams. `isStreamed` means JSON lines, which also carry promises and async iterables inside plain objects.
 */
export function guardOutput(
  output: unknown,
  { openStream, isStreamed, writable }: Omit<GuardOptions, 'guardValue'> & { isStreamed: boolean },
): unknown {
  /** Finds the streams that tRPC would find. */
  function guardValue(value: unknown): unknown {
    if (isAsyncIterable(value)) return guardIterable(value, { openStream, guardValue })
    if (!isPlainObject(value)) return value
    let guarded: Record<string, unknown> | null = null
    for (const key of Object.keys(value)) {
      const part = guardPart(value[key])
      if (part === value[key]) continue
      guarded ??= { ...value }
      guarded[key] = part
    }
    return guarded ?? value
  }

  function guardPart(part: unknown): unknown {
    if (isAsyncIterable(part)) return guardIterable(part, { openStream, guardValue })
    if (!isPromise(part)) return part
    const guarded = guardPromise(part, { openStream, guardValue })
    // It may reject before tRPC reads it.
    guarded.catch(() => {})
    return guarded
  }

  const options = isStreamed ? { openStream, guardValue } : { openStream, writable }
  if (isAsyncIterable(output)) return guardIterable(output, options)
  if (isObservable(output)) return guardObservable(output, options)
  return isStreamed ? guardValue(output) : output
}

export function isStream(output: unknown): boolean {
  return isAsyncIterable(output) || isObservable(output)
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function isPromise(value: unknown): value is Promise<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return 'then' in value && typeof value.then === 'function' && 'catch' in value
}

/** Makes tRPC's check: the constructor is `Object`, of any realm, or undefined. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (Object.prototype.toString.call(value) !== '[object Object]') return false
  const { constructor: made } = value as { constructor: unknown }
  if (made === undefined) return true
  return typeof made === 'function' && Object.hasOwn(made.prototype ?? {}, 'isPrototypeOf')
}
