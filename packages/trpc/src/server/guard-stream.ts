import { type Observable, observable } from '@trpc/server/observable'
import type { SessionWatch } from './watch-session.ts'

/**
 * An async iterable that ends with the watch's error as soon as the session no longer counts, and emits nothing after. The source
 * is told to stop but not waited for: one that ignores its signal must not keep the client from being told.
 */
export function guardIterable<Value>(
  source: AsyncIterable<Value>,
  watch: SessionWatch,
): AsyncIterableIterator<Value> {
  const iterator = source[Symbol.asyncIterator]()
  let isOver = false

  function finish(): void {
    isOver = true
    watch.stop()
  }

  async function abandon(): Promise<void> {
    finish()
    try {
      await iterator.return?.()
    } catch {
      // The consumer has been given the reason why the stream ended; a failing clean-up of the source adds nothing to it.
    }
  }

  async function next(): Promise<IteratorResult<Value>> {
    if (isOver) return { done: true, value: undefined }
    try {
      const result = await unlessEnded(iterator.next(), watch.signal)
      // A revocation has been announced and is being looked up: wait for the verdict.
      while (watch.pending !== null) await watch.pending
      watch.signal.throwIfAborted()
      if (result.done === true) finish()
      return result
    } catch (error) {
      void abandon()
      throw error
    }
  }

  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next,
    async return(value) {
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

/** The promise, or a rejection with the signal's reason as soon as it aborts. Leaves no listener behind. */
function unlessEnded<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    if (signal.aborted) return end()
    signal.addEventListener('abort', end, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}

/** Like {@link guardIterable}, for subscriptions that return an observable. */
export function guardObservable<Value>(
  source: Observable<Value, unknown>,
  watch: SessionWatch,
): Observable<Value, unknown> {
  return observable((observer) => {
    function emit(send: () => void): void {
      if (watch.signal.aborted) return
      if (watch.pending === null) send()
      else void watch.pending.then(() => emit(send))
    }
    const end = () => observer.error(watch.signal.reason)
    if (watch.signal.aborted) return end()
    watch.signal.addEventListener('abort', end, { once: true })
    const subscription = source.subscribe({
      next: (value) => emit(() => observer.next(value)),
      error: (error) => emit(() => observer.error(error)),
      complete: () => emit(() => observer.complete()),
    })
    return () => {
      watch.signal.removeEventListener('abort', end)
      watch.stop()
      subscription.unsubscribe()
    }
  })
}
