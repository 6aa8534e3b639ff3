import type { DatabaseConnection } from 'kysely'

export interface TransactionSeal {
  /** @throws Error while a transaction is ending on the connection */
  check(connection: DatabaseConnection): void
  /** Calls `end`, which commits or rolls back, and rejects later statements until Kysely does. */
  around(connection: DatabaseConnection, end: () => Promise<void>): Promise<void>
}

/**
 * Closes a gap in Kysely, which rejects statements of a transaction only once its `commit` or `rollback` has
 * returned. A statement in between would run outside the transaction and commit separately.
 */
export function transactionSeal(): TransactionSeal {
  const ending = new WeakSet<DatabaseConnection>()
  return {
    check(connection) {
      if (ending.has(connection))
        throw new Error('The transaction has ended. Await its statements before it does.')
    },
    around(connection, end) {
      const ended = end()
      ending.add(connection)
      const ignore = () => {}
      // One turn later, once Kysely rejects them; its migrations reuse the connection.
      void ended.then(ignore, ignore).then(() => ending.delete(connection))
      return ended
    },
  }
}
