import type { AuthStore } from '@sallyport/core'
import { type Admission, authRequest } from './auth-handle.ts'
import type { AuthContext } from './context.ts'
import { type Condition, type SessionWatch, watchSession } from './watch-session.ts'

/** Where the handle of an admitted call keeps its watch, for our own middlewares alone. */
export const callWatch: unique symbol = Symbol('callWatch')

/** A handle that keeps the watch of its call. */
export interface WatchedHandle {
  readonly [callWatch]: CallWatch
}

/** The watch of a call, which begins when something asks for it. */
export interface CallWatch {
  readonly conditions: Condition[]
  /** The signal for the resolver, which begins the watch unless the call is over. */
  signal(): AbortSignal
  /** Begins the watch for a stream, or returns the one that has begun. */
  start(): SessionWatch
  stop(): void
  /** Ends it because nobody is there any more, and aborts the signal. */
  leave(): void
}

/**
 * Creates the watch of an admitted call. It costs nothing until it is used.
 *
 * @param options.onStream called when the response is read as a stream
 */
export function createCallWatch(
  admission: Admission,
  { auth }: AuthContext,
  {
    store,
    caller,
    onStream,
  }: { store: AuthStore; caller: AbortSignal | undefined; onStream?: (() => void) | null },
): CallWatch {
  let watch: SessionWatch | undefined
  let isOver = false
  // What is asked of the session by one guard of a call holds for whatever rests on another.
  const conditions: Condition[] = isWatched(auth) ? auth[callWatch].conditions : []

  function begin(): SessionWatch {
    return watchSession(admission, store, { config: auth[authRequest].config, caller, conditions })
  }

  return {
    conditions,
    signal() {
      watch ??= begin()
      // Asked for by something that outlived its call: nobody would ever end this watch.
      if (isOver) watch.stop()
      return watch.signal
    },
    start() {
      onStream?.()
      // A stream that is first read when others have ended is watched anew.
      if (watch === undefined || isOver) watch = begin()
      isOver = false
      return watch
    },
    stop() {
      isOver = true
      watch?.stop()
    },
    leave() {
      isOver = true
      watch?.leave()
    },
  }
}

/** Ends the streams of a call when a later read of its session does not meet the condition. */
export function holdTo(condition: Condition, handle: object): void {
  if (isWatched(handle)) handle[callWatch].conditions.push(condition)
}

/** Whether an earlier guard has already accepted the call. */
export function isWatched(handle: object): handle is WatchedHandle {
  return callWatch in handle
}
