import type { Revocation } from '@sallyport/core'
import { follow, type Publish, replaceMethod } from './follow.ts'
import { findRevoked, type Query, type RowFinder, revokedBy } from './revoked-by.ts'

/** The methods of Better Auth's database adapter that change sessions, and the one that finds these rows. */
export interface WritableAdapter extends RowFinder {
  update(query: Query): Promise<unknown>
  updateMany(query: Query): Promise<unknown>
  delete(query: Query): Promise<unknown>
  deleteMany(query: Query): Promise<unknown>
  consumeOne?(query: Query): Promise<unknown>
  incrementOne?(query: Query): Promise<unknown>
  transaction?(work: (trx: WritableAdapter) => Promise<unknown>): Promise<unknown>
}

/**
 * Publishes every write of Better Auth and its plugins that may end or weaken a session, after its
 * transaction has ended. They all share this adapter, so its methods are replaced in place. The returned
 * function stops publishing.
 */
export function followAdapter(
  adapter: WritableAdapter,
  listener: Publish,
  { isTransaction = false }: { isTransaction?: boolean } = {},
): () => void {
  return follow(adapter, listener, (publish) => {
    for (const name of ['update', 'consumeOne', 'incrementOne'] as const) {
      const write = adapter[name]
      if (write === undefined) continue
      replaceMethod(adapter, name, async (query) => {
        const row = await write.call(adapter, query)
        for (const revocation of revokedBy(query, [row])) publish(revocation)
        return row
      })
    }
    for (const name of ['updateMany', 'delete', 'deleteMany'] as const) {
      const write = adapter[name]
      replaceMethod(adapter, name, async (query) => {
        const revocations = await findRevoked(isTransaction ? null : adapter, query)
        try {
          return await write.call(adapter, query)
        } finally {
          // Also if the write failed, because it may have committed.
          for (const revocation of revocations) publish(revocation)
        }
      })
    }
    followTransactions(adapter, publish)
  })
}

/** Publishes the writes of a transaction after it has ended. Other connections don't see them before. */
function followTransactions(adapter: WritableAdapter, publish: Publish): void {
  const { transaction } = adapter
  if (transaction === undefined) return
  replaceMethod(adapter, 'transaction', async (work) => {
    const revocations: Revocation[] = []
    let stop: (() => void) | undefined
    try {
      return await transaction.call(adapter, (trx) => {
        // An adapter without transactions passes itself.
        if (trx !== adapter)
          stop = followAdapter(trx, (revocation) => revocations.push(revocation), { isTransaction: true })
        return work(trx)
      })
    } finally {
      stop?.()
      for (const revocation of revocations) publish(revocation)
    }
  })
}
