import type { OperationLink, OperationResultEnvelope } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { type Observable, type Observer, observable } from '@trpc/server/observable'
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
  next(envelope: Envelope): CallError | null | undefined
  complete(): void
  readonly signal: AbortSignal
}

/** Sends a call, and resolves with the error that ends it. */
export function sendCall(
  call: Observable<Envelope, CallError>,
  { next, complete, signal }: Attempt,
): Promise<CallError> {
  return new Promise((resolve) => {
    // After its end, this observable drops what the link emits, such as a completion when it is unsubscribed.
    const sent = observable<never, CallError>((attempt) =>
      call.subscribe({
        ...attempt,
        next(envelope) {
          const error = next(envelope)
          if (error) attempt.error(error)
        },
      }),
    ).subscribe({ complete, error: resolve })
    signal.onabort = sent.unsubscribe
    // An envelope that arrived at once may have made the caller unsubscribe.
    if (signal.aborted) sent.unsubscribe()
  })
}
