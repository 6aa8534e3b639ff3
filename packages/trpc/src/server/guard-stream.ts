import { type Observable, observable } from '@trpc/server/observable'
import type { StreamLease } from './call-lease.ts'

export interface GuardOptions {
  /** Called when the stream is first read: tRPC doesn't read one that its transport can't carry. */
  readonly openStream: () => StreamLease
  /** Guards the streams inside a value. */
  readonly guardValue?: (value: unknown) => unknown
  /** Returns a promise to await before reading the source, while the client reads too slowly; else null. */
  readonly writable?: (() => Promise<void> | null) | undefined
}

const unchanged = (value: unknown) => value

/**
 * Returns an async iterable that ends with the error of the lease when the session isn't valid, and emits
 * nothing after. Doesn't wait until the source stops: one that ignores its signal must not delay the error.
 */
export function guardIterable(
  source: AsyncIterable<unknown>,
  { openStream, guardValue = unchanged, writable }: GuardOptions,
): AsyncIterableIterator<unknown> & AsyncDisposable {
  let iterator: AsyncIterator<unknown> | undefined
  let opened: StreamLease | undefined
  let isReading = false
  let isOver = false

  /** Not before the first read: a source may begin its work here, and tRPC doesn't read every stream. */
  function iterate(): AsyncIterator<unknown> {
    iterator ??= source[Symbol.asyncIterator]()
    return iterator
  }

  function finish(): void {
    isOver = true
    opened ??= openStream()
    opened.end()
  }

  async function abandon(): Promise<void> {
    finish()
    // Also of a source that wasn't read: some begin their work before, such as `on` of `node:events`.
    await iterate().return?.()
  }

  async function next(): Promise<IteratorResult<unknown>> {
    if (isOver) return { done: true, value: undefined }
    opened ??= openStream()
    const lease = opened
    try {
      lease.signal.throwIfAborted()
      const drained = writable?.() ?? null
      if (drained !== null) await unlessEnded(drained, lease.signal)
      isReading = true
      const { done, value } = await unlessEnded(iterate().next(), lease.signal)
      isReading = false
      for (let wait = lease.pending(); wait !== null; wait = lease.pending()) await wait
      lease.signal.throwIfAborted()
      const result = { done: done === true, value: guardValue(value) }
      if (result.done) finish()
      return result
    } catch (error) {
      // The consumer has left meanwhile.
      if (isOver) return { done: true, value: undefined }
      // The consumer gets the error that ended the stream, not another one of the source.
      abandon().catch(() => {})
      throw lease.withReason(error)
    }
  }

  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next,
    async return(value) {
      // After an error the source was already stopped, and may never respond.
      if (isOver) return { done: true, value }
      // A source that is being read may stop only when its signal aborts.
      if (isReading) opened?.abandon()
      finish()
      return (await iterate().return?.(value)) ?? { done: true, value }
    },
    async throw(error) {
      finish()
      const inner = iterate()
      if (inner.throw !== undefined) return inner.throw(error)
      throw error
    },
    // For `await using` of a server's own call, as with a generator.
    async [Symbol.asyncDispose]() {
      await this.return?.()
    },
  }
}

/** Guards an observable like {@link guardIterable}, but emits and ends synchronously. */
export function guardObservable(
  source: Observable<unknown, unknown>,
  { openStream, guardValue = unchanged }: GuardOptions,
): Observable<unknown, unknown> {
  return observable((observer) => {
    const lease = openStream()
    const { signal } = lease
    /** The source's cleanup may throw, but no caller waits for it: its error would end the process. */
    function end(error: unknown = signal.reason): void {
      try {
        observer.error(error)
      } catch {}
    }

    const onAbort = () => end()
    if (signal.aborted) {
      lease.end()
      return end()
    }
    signal.addEventListener('abort', onAbort)
    let waiting: (() => void)[] = []

    /** Emits in order, at once or when the lease allows it, and nothing after its end. */
    function emit(send: (value: unknown) => void, value: unknown): void {
      if (signal.aborted) return
      if (waiting.length === 0 && lease.pending() === null) send(value)
      else if (waiting.push(() => send(value)) === 1)
        emitWaiting().catch((error) => end(lease.withReason(error)))
    }

    async function emitWaiting(): Promise<void> {
      while (waiting.length > 0) {
        for (let wait = lease.pending(); wait !== null; wait = lease.pending()) await wait
        // Empty if the stream has ended meanwhile.
        waiting[0]?.()
        // Removed only now, so values that the source emits meanwhile come after it.
        waiting.shift()
      }
    }

    const next = (value: unknown) => observer.next(guardValue(value))
    const fail = (error: unknown) => observer.error(lease.withReason(error))
    const subscription = source.subscribe({
      next: (value) => emit(next, value),
      error: (error) => emit(fail, error),
      complete: () => emit(() => observer.complete(), null),
    })
    return () => {
      signal.removeEventListener('abort', onAbort)
      waiting = []
      lease.end()
      subscription.unsubscribe()
    }
  })
}

export async function guardPromise(
  promise: Promise<unknown>,
  { openStream, guardValue = unchanged }: GuardOptions,
): Promise<unknown> {
  const lease = openStream()
  try {
    const value = await unlessEnded(promise, lease.signal)
    for (let wait = lease.pending(); wait !== null; wait = lease.pending()) await wait
    lease.signal.throwIfAborted()
    return guardValue(value)
  } catch (error) {
    throw lease.withReason(error)
  } finally {
    lease.end()
  }
}

/** Returns the promise, or rejects with the signal's reason when it aborts. Leaves no listener behind. */
function unlessEnded<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason)
    if (signal.aborted) end()
    // An iterator of the app may return its results without a promise.
    Promise.resolve(promise)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', end))
    signal.addEventListener('abort', end)
  })
}
