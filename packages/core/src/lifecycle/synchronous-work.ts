import { ConfigurationError } from '../protocol/errors.ts'
import { isThenable } from '../protocol/is-thenable.ts'

/** Runs synchronous work. Its later statements fail: they would run outside the transaction. */
export function workNow<Result>(trx: object, work: (trx: object) => Result | Promise<Result>): Result {
  const seal = sealSession(trx)
  try {
    const result = work(trx)
    if (!isThenable(result)) return result
    if (result instanceof Promise) result.catch(() => {})
    throw new ConfigurationError(
      "ctx.transaction: the transactions of this client are synchronous. Don't await in the function: call .run() or .all()",
    )
  } finally {
    seal()
  }
}

/** Replaces the session of Drizzle's transaction by one that fails after the returned function was called. */
function sealSession(trx: object): () => void {
  let isSealed = false
  const session: unknown = Reflect.get(trx, 'session')
  if (typeof session !== 'object' || session === null)
    throw new ConfigurationError('ctx.transaction: unknown client. Call lockSession() in its transaction.')
  const guarded = new Proxy(session, {
    get(target, name, receiver) {
      if (isSealed) throw new Error('The transaction has ended')
      return Reflect.get(target, name, receiver)
    },
  })
  Reflect.set(trx, 'session', guarded)
  return () => {
    isSealed = true
  }
}
