import type { DatabaseConnection } from 'kysely'

/** Keeps statements of a transaction from running after its end. */
export interface TransactionSeal {
  /** @throws Error while a transaction is being ended on the connection */
  check(connection: DatabaseConnection): void
  /** Calls what ends the transaction, and refuses every statement after it until Kysely does. */
  around(connection: DatabaseConnection, end: () => Promise<void>): Promise<void>
}

/**
 * Kysely refuses what is still tried on a transaction once its `commit` or `rollback` has been answered. What comes between would be
 * a statement of its own, whose effect stays.
 */
export function transactionSeal(): TransactionSeal {
  const ending = new WeakSet<DatabaseConnection>()
  return {
    check(connection) {
      if (ending.has(connection)) throw new Error('The transaction is over')
    },
    around(connection, end) {
      const ended = end()
      ending.add(connection)
      const settled = () => {}
      // A turn later, when Kysely has heard of it; its migrations go on with the same connection.
      void ended.then(settled, settled).then(() => ending.delete(connection))
      return ended
    },
  }
}
