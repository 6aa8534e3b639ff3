import { isObservable } from '@trpc/server/observable'
import type { CallWatch } from './call-lease.ts'
import {
  type GuardOptions,
  guardIterable,
  guardObservable,
  guardPromise,
  type StreamWatch,
} from './guard-stream.ts'

/**
 * The answer of a resolver with every stream in it guarded, or the very same answer where nothing in it streams.
 *
 * @param options.isStreamed whether it is sent as JSON lines: those also carry promises and async iterables that are values of a plain
 * object, at the top and in whatever they bring
 * @param options.writable returns a promise that a stream awaits before it reads its source
 */
export function guardAnswer(
  answer: unknown,
  { watch, isStreamed, writable }: { watch: CallWatch; isStreamed: boolean } & Pick<GuardOptions, 'writable'>,
): unknown {
  let streams = 0

  /** The watch ends with the last stream. */
  function startWatch(): StreamWatch {
    let isStopped = false
    streams++
    const { signal, verdict } = watch.start()
    return {
      signal,
      verdict,
      stop() {
        if (isStopped) return
        isStopped = true
        streams--
        if (streams === 0) watch.stop()
      },
    }
  }

  /** As tRPC looks for streams in what it sends as JSON lines. */
  function guardValue(value: unknown): unknown {
    if (isAsyncIterable(value)) return guardIterable(value, { startWatch, guardValue })
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
    if (isAsyncIterable(part)) return guardIterable(part, { startWatch, guardValue })
    if (!isPromise(part)) return part
    const guarded = guardPromise(part, { startWatch, guardValue })
    // It may end before anyone has come to read it.
    guarded.catch(() => {})
    return guarded
  }

  const options = isStreamed ? { startWatch, guardValue } : { startWatch, writable }
  if (isAsyncIterable(answer)) return guardIterable(answer, options)
  if (isObservable(answer)) return guardObservable(answer, options)
  return isStreamed ? guardValue(answer) : answer
}

/** Whether an answer is a stream as a whole. */
export function isStream(answer: unknown): boolean {
  return isAsyncIterable(answer) || isObservable(answer)
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function isPromise(value: unknown): value is Promise<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return 'then' in value && typeof value.then === 'function' && 'catch' in value
}

/** What tRPC takes for one: whose constructor is `Object`, of any realm, or is none. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (Object.prototype.toString.call(value) !== '[object Object]') return false
  const { constructor: made } = value as { constructor: unknown }
  if (made === undefined) return true
  return typeof made === 'function' && Object.hasOwn(made.prototype ?? {}, 'isPrototypeOf')
}
