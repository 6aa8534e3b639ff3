import type { OperationLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable, observableToPromise } from '@trpc/server/observable'
import { rejectOnServer } from './reject-on-server.ts'

/** The part of a page of `@sallyport/trpc/ssr` that `authLink` uses. */
export interface CallingPage {
  call<Result>(work: (headers: Headers) => Promise<Result>): Promise<Result>
}

/** Makes the queries of a page, and again with a fresh JWT if the router rejects the browser's. */
export function callOnPage(page: CallingPage): OperationLink<AnyTRPCRouter> {
  return (call) => {
    if (call.op.type !== 'query') return rejectOnServer(call)
    return observable((observer) => {
      page
        .call(() => observableToPromise(call.next(call.op)))
        .then((envelope) => {
          observer.next(envelope)
          observer.complete()
        }, observer.error)
    })
  }
}
