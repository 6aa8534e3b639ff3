import {
  type AbortableOperationOptions,
  type DatabaseConnection,
  type Dialect,
  PostgresDialect,
  PostgresDriver,
} from 'kysely'
import type { Pool } from 'pg'
import { transactionSeal } from '../transaction-seal.ts'
import { orUnavailable } from './errors.ts'

/** Creates the Kysely dialect for a pool. Errors of a connection become `SESSIONS_UNAVAILABLE`. */
export function postgresDialect(pool: Pool): Dialect {
  const config = { pool }
  return Object.assign(new PostgresDialect(config), { createDriver: () => new PoolDriver(config) })
}

type Connection = Parameters<PostgresDriver['rollbackTransaction']>[0]

class PoolDriver extends PostgresDriver {
  readonly #known = new WeakSet<DatabaseConnection>()
  readonly #seal = transactionSeal()

  override async acquireConnection(options?: AbortableOperationOptions): Promise<DatabaseConnection> {
    const connection = await orUnavailable(super.acquireConnection(options))
    if (!this.#known.has(connection)) {
      this.#known.add(connection)
      // The driver identifies connections by reference, so this one is patched instead of wrapped.
      const execute = connection.executeQuery.bind(connection)
      connection.executeQuery = async (query, options) => {
        this.#seal.check(connection)
        return orUnavailable(execute(query, options))
      }
    }
    return connection
  }

  override commitTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#seal.around(connection, () => super.commitTransaction(connection))
  }

  override rollbackTransaction(connection: Connection): Promise<void> {
    return this.#seal.around(connection, () => super.rollbackTransaction(connection))
  }
}
