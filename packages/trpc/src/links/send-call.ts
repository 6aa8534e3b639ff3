import type { Operation, OperationLink, OperationResultEnvelope } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import type { Observer, Unsubscribable } from '@trpc/server/observable'
import { clientError } from '../client/auth-client-error.ts'
import { type CallError, toCallError } from './call-error.ts'
import type { LinkSession } from './link-session.ts'

export type Envelope = OperationResultEnvelope<unknown, CallError>

/** Returns true to pass an envelope on, false to drop it, or an error that ends this attempt. */
export type Intercept = (envelope: Envelope) => boolean | CallError

export type LinkCall = Parameters<OperationLink<AnyTRPCRouter>>[0]

export interface Call extends LinkCall {
  readonly session: LinkSession
  readonly observer: Observer<Envelope, CallError>
  /** Aborts when the caller unsubscribes. Its `onabort` is that of the current attempt or pause. */
  readonly signal: AbortSignal
  /** Returns whether the user changed, which ends the call. */
  isAbandoned(): boolean
  report(error: unknown): void
}

/** Sends a call, passes on what it emits, and resolves with the error that ends it. */
export async function sendCall(call: Call, op: Operation, intercept: Intercept): Promise<CallError> {
  let sent: Unsubscribable | undefined
  const unsubscribe = () => sent?.unsubscribe()
  call.signal.onabort = unsubscribe
  const error = await new Promise<CallError>((resolve) => {
    let isDone = false
    const end = (error: CallError) => {
      isDone = true
      resolve(error)
    }
    sent = call.next(op).subscribe({
      next(envelope) {
        if (isDone || call.isAbandoned()) return
        const intercepted = intercept(envelope)
        const { data }: { data?: unknown } = envelope.result
        const isStream = Symbol.asyncIterator in Object(data)
        const guarded = isStream
          ? { ...envelope, result: { data: guardStream(data as AsyncIterable<unknown>, call) } }
          : envelope
        if (intercepted === true) call.observer.next(guarded)
        else if (intercepted) end(intercepted)
      },
      error: end,
      complete: () => isDone || call.observer.complete(),
    })
    // An envelope that arrived at once may have made the caller unsubscribe.
    if (call.signal.aborted) unsubscribe()
  })
  unsubscribe()
  return error
}

/** Guards the stream that a query may return: the app reads it long after the query has ended. */
async function* guardStream(stream: AsyncIterable<unknown>, call: Call): AsyncGenerator {
  const values = stream[Symbol.asyncIterator]()
  try {
    // A loop of `for await` would drop the value that the stream returns.
    while (true) {
      const { done, value } = await values.next()
      if (call.isAbandoned()) throw toCallError(clientError('USER_CHANGED'))
      if (done) return value
      yield value
    }
  } catch (error) {
    call.report(error)
    throw error
  } finally {
    await values.return?.()
  }
}
