/** A promise with external resolve and reject functions. */
export interface Deferred<Value> {
  readonly promise: Promise<Value>
  resolve(value: Value): void
}

export function deferred<Value>(): Deferred<Value> {
  let resolve: Deferred<Value>['resolve'] = () => {}
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
