import { type Observable, observable, observableToPromise } from '@trpc/server/observable'

/** The part of a call of tRPC's links that a page uses. */
interface LinkCall<Op, Value, Fault> {
  readonly op: Op
  next(op: Op): Observable<Value, Fault>
}

/** A link that makes queries with `call` of a page, and passes any other call to `reject`. */
export type PageLink = <Op extends { readonly type: string }, Value, Fault>(
  reject: (call: LinkCall<Op, Value, Fault>) => Observable<Value, Fault>,
) => (call: LinkCall<Op, Value, Fault>) => Observable<Value, Fault>

/** Creates the link of a page. */
export function createPageLink(call: <Result>(work: () => Promise<Result>) => Promise<Result>): PageLink {
  return (reject) => (sent) => {
    if (sent.op.type !== 'query') return reject(sent)
    return observable((observer) => {
      call(() => observableToPromise(sent.next(sent.op))).then((envelope) => {
        observer.next(envelope)
        observer.complete()
      }, observer.error)
    })
  }
}
