import { isAuthError } from '@sallyport/core'
import { type Observable, observable } from '@trpc/server/observable'
import { toTRPCError } from './errors.ts'
import type { SessionWatch } from './watch-session.ts'

/**
 * An async iterable that ends with the watch's error as soon as the session no longer counts, and emits nothing after. The source
 * is told to stop but not waited for: one that ignores its signal must not keep the client from being told.
 *
 * @param startWatch called when the iterable is first read: tRPC leaves one that its transport cannot carry untouched
 */
export function guardIterable<Value>(
  source: AsyncIterable<Value>,
  startWatch: () => SessionWatch,
): AsyncIterableIterator<Value> {
  const iterator = source[Symbol.asyncIterator]()
  let isOver = false

  function finish(): void {
    isOver = true
    startWatch().stop()
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
    const watch = startWatch()
    try {
      watch.signal.throwIfAborted()
      const result = await unlessEnded(iterator.next(), watch.signal)
      // A revocation has been announced and is being looked up: wait for the verdict.
      while (watch.pending !== null) await watch.pending
      watch.signal.throwIfAborted()
      if (result.done === true) finish()
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

/** A refusal of our own from the source, such as a database that has gone away, keeps its reason. */
function withCodeOfReason(error: unknown): unknown {
  return isAuthError(error) ? toTRPCError(error) : error
}

/** The promise, or a rejection with the signal's reason as soon as it aborts. Leaves no listener behind. */
function unlessEnded<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
    signal.addEventListener('abort', end, { once: true })
  })
}

/** Like {@link guardIterable}, for subscriptions that return an observable. */
export function guardObservable<Value>(
  source: Observable<Value, unknown>,
  startWatch: () => SessionWatch,
): Observable<Value, unknown> {
  return observable((observer) => {
    const watch = startWatch()
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
      error: (error) => emit(() => observer.error(withCodeOfReason(error))),
      complete: () => emit(() => observer.complete()),
    })
    return () => {
      watch.signal.removeEventListener('abort', end)
      watch.stop()
      subscription.unsubscribe()
    }
  })
}
