import { isAuthError } from '@sallyport/core'
import { type Observable, observable } from '@trpc/server/observable'
import { toTRPCError } from './errors.ts'
import type { SessionWatch } from './watch-session.ts'

/** What a stream needs of the watch of its call. */
export type StreamWatch = Pick<SessionWatch, 'signal' | 'verdict' | 'stop'>

/** How a stream is guarded. */
export interface GuardOptions {
  /** Called when the stream is first read: tRPC leaves one that its transport cannot carry untouched. */
  readonly startWatch: () => StreamWatch
  /** Guards what can be a stream inside a value. */
  readonly guardValue?: (value: unknown) => unknown
  /**
   * Returns a promise to await before the source is read again, while the client hasn't read enough; else
   * null.
   */
  readonly writable?: (() => Promise<void> | null) | undefined
}

const asItIs = (value: unknown) => value

/**
 * An async iterable that ends with the watch's error as soon as the session no longer counts, and emits nothing after. The source
 * is told to stop but not waited for: one that ignores its signal must not keep the client from being told.
 */
export function guardIterable(
  source: AsyncIterable<unknown>,
  { startWatch, guardValue = asItIs, writable }: GuardOptions,
): AsyncIterableIterator<unknown> {
  const iterator = source[Symbol.asyncIterator]()
  let watch: StreamWatch | undefined
  let isOver = false

  function begin(): StreamWatch {
    watch ??= startWatch()
    return watch
  }

  function finish(): void {
    isOver = true
    begin().stop()
  }

  async function abandon(): Promise<void> {
    finish()
    try {
      await iterator.return?.()
    } catch {
      // The consumer has been given the reason why the stream ended; a failing clean-up of the source adds nothing to it.
    }
  }

  async function next(): Promise<IteratorResult<unknown>> {
    if (isOver) return { done: true, value: undefined }
    const { signal, verdict } = begin()
    try {
      signal.throwIfAborted()
      const drained = writable?.() ?? null
      if (drained !== null) await unlessEnded(drained, signal)
      const { done, value } = await unlessEnded(iterator.next(), signal)
      for (let wait = verdict(); wait !== null; wait = verdict()) await wait
      signal.throwIfAborted()
      const result = { done: done === true, value: guardValue(value) }
      if (result.done) finish()
      return result
    } catch (error) {
      void abandon()
      throw withCodeOfReason(error)
    }
  }

  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next,
    async return(value) {
      // After an error the source has been told already, and may never answer.
      if (isOver) return { done: true, value }
      finish()
      return (await iterator.return?.(value)) ?? { done: true, value }
    },
    async throw(error) {
      finish()
      if (iterator.throw !== undefined) return iterator.throw(error)
      throw error
    },
  }
}

/** Like {@link guardIterable}, for subscriptions that return an observable. */
export function guardObservable(
  source: Observable<unknown, unknown>,
  { startWatch, guardValue = asItIs }: GuardOptions,
): Observable<unknown, unknown> {
  return observable((observer) => {
    const watch = startWatch()
    const { signal, verdict } = watch
    /** What came while a verdict was awaited, in order. */
    let waiting: (() => void)[] = []

    function emit(send: () => void): void {
      if (signal.aborted) return
      if (waiting.length === 0 && verdict() === null) send()
      else if (waiting.push(send) === 1) void sendWaiting()
    }

    async function sendWaiting(): Promise<void> {
      while (waiting.length > 0) {
        for (let wait = verdict(); wait !== null; wait = verdict()) await wait
        // Nothing is left where it has ended meanwhile.
        waiting[0]?.()
        // Only now, so that what the source emits meanwhile comes after it.
        waiting.shift()
      }
    }

    const end = () => observer.error(signal.reason)
    if (signal.aborted) return end()
    signal.addEventListener('abort', end, { once: true })
    const subscription = source.subscribe({
      next: (value) => emit(() => observer.next(guardValue(value))),
      error: (error) => emit(() => observer.error(withCodeOfReason(error))),
      complete: () => emit(() => observer.complete()),
    })
    return () => {
      signal.removeEventListener('abort', end)
      waiting = []
      watch.stop()
      subscription.unsubscribe()
    }
  })
}

/** Like {@link guardIterable}, for a promise that is part of a streamed answer. */
export async function guardPromise(
  promise: Promise<unknown>,
  { startWatch, guardValue = asItIs }: GuardOptions,
): Promise<unknown> {
  const { signal, verdict, stop } = startWatch()
  try {
    const value = await unlessEnded(promise, signal)
    for (let wait = verdict(); wait !== null; wait = verdict()) await wait
    signal.throwIfAborted()
    return guardValue(value)
  } catch (error) {
    throw withCodeOfReason(error)
  } finally {
    stop()
  }
}

/** A refusal of our own from the source, such as a database that has gone away, keeps its reason. */
function withCodeOfReason(error: unknown): unknown {
  return isAuthError(error) ? toTRPCError(error) : error
}

/** The promise, or a rejection with the signal's reason as soon as it aborts. Leaves no listener behind. */
function unlessEnded<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    if (signal.aborted) end()
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
    signal.addEventListener('abort', end, { once: true })
  })
}
