import type { OperationLink, OperationResultEnvelope } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import type { Observable, Observer, Unsubscribable } from '@trpc/server/observable'
import type { CallError } from './call-error.ts'
import type { LinkSession } from './link-session.ts'

export type Envelope = OperationResultEnvelope<unknown, CallError>

export type LinkCall = Parameters<OperationLink<AnyTRPCRouter>>[0]

export interface Call extends LinkCall {
  readonly session: LinkSession
  readonly observer: Observer<Envelope, CallError>
}

interface Attempt {
  /** Receives an envelope. Returns an error to end the attempt. */
  next(envelope: Envelope): CallError | undefined
  complete(): void
  readonly signal: AbortSignal
}

/** Sends a call, and resolves with the error that ends it. */
export async function sendCall(
  call: Observable<Envelope, CallError>,
  { next, complete, signal }: Attempt,
): Promise<CallError> {
  let sent: Unsubscribable | undefined
  const unsubscribe = () => sent?.unsubscribe()
  signal.onabort = unsubscribe
  const error = await new Promise<CallError>((resolve) => {
    let isDone = false
    const end = (error: CallError) => {
      isDone = true
      resolve(error)
    }
    sent = call.subscribe({
      next(envelope) {
        const error = isDone ? undefined : next(envelope)
        if (error) end(error)
      },
      error: end,
      complete: () => isDone || complete(),
    })
    // An envelope that arrived at once may have made the caller unsubscribe.
    if (signal.aborted) unsubscribe()
  })
  unsubscribe()
  return error
}
