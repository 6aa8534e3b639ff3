import { type Outcome, type Rejection, toRejection } from './outcome.ts'

/** A subscription as its client sees it. */
export interface Stream {
  /** Values so far. */
  readonly values: unknown[]
  /** The first value, or why there was none. */
  readonly first: Promise<Outcome>
  /** The error that ended it, or null if it completed. */
  readonly ended: Promise<Rejection | null>
  unsubscribe(): void
}

interface Subscribable {
  subscribe(
    input: undefined,
    observer: {
      onData(value: unknown): void
      onError(error: unknown): void
      onComplete(): void
      onConnectionStateChange(state: { error: { data?: unknown } | null }): void
    },
  ): { unsubscribe(): void }
}

/**
 * Subscribes and records. Over server-sent events, the client reports a 5xx error in its connection state and
 * retries; here it ends the stream.
 */
export function openStream(procedure: Subscribable): Stream {
  const values: unknown[] = []
  const first = Promise.withResolvers<Outcome>()
  const ended = Promise.withResolvers<Rejection | null>()

  function end(error: unknown): void {
    const rejection = toRejection(error)
    first.resolve({ rejection })
    ended.resolve(rejection)
  }

  const subscription = procedure.subscribe(undefined, {
    onData(value) {
      values.push(value)
      first.resolve({ data: value, rejection: null })
    },
    onError: end,
    onComplete: () => ended.resolve(null),
    onConnectionStateChange({ error }) {
      if (error?.data == null) return
      end(error)
      subscription.unsubscribe()
    },
  })
  return { values, first: first.promise, ended: ended.promise, unsubscribe: () => subscription.unsubscribe() }
}

/**
 * Reads an async iterable to its end, like {@link openStream}.
 *
 * @param stop ends the iterable early
 */
export function readStream(iterable: AsyncIterable<unknown>, stop: () => void): Stream {
  const values: unknown[] = []
  const first = Promise.withResolvers<Outcome>()
  const ended = Promise.withResolvers<Rejection | null>()
  let isStopped = false

  async function read(): Promise<void> {
    for await (const value of iterable) {
      values.push(value)
      first.resolve({ data: value, rejection: null })
    }
  }
  read().then(
    () => ended.resolve(null),
    (error: unknown) => {
      if (isStopped) return ended.resolve(null)
      const rejection = toRejection(error)
      first.resolve({ rejection })
      ended.resolve(rejection)
    },
  )
  return {
    values,
    first: first.promise,
    ended: ended.promise,
    unsubscribe() {
      isStopped = true
      stop()
    },
  }
}
