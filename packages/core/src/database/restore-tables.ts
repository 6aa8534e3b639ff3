import { type DatabaseConnection, type Dialect, type Driver, Kysely } from 'kysely'
import { errorAndCauses } from '../protocol/causes.ts'
import { AuthError } from '../protocol/errors.ts'
import { asConflict } from '../session/conflict.ts'
import type { InternalNames } from './schema/internal-tables.ts'
import type { AuthKysely } from './schema/kysely-tables.ts'

/** Recreates our internal tables when a statement misses one: another tool may have dropped them. */
export interface TableRestorer {
  readonly internal: InternalNames
  /** Creates what is missing. In SQLite, it may run inside a transaction. */
  restore(db: AuthKysely): Promise<unknown>
}

/** PostgreSQL's code for a table that doesn't exist. */
export const UNDEFINED_TABLE = '42P01'

/** Returns whether a statement failed because one of our internal tables doesn't exist. */
export function missesInternalTable(error: unknown, { engine, schema }: InternalNames): boolean {
  return errorAndCauses(error).some((each) =>
    engine === 'sqlite'
      ? /no such table: (main\.)?sallyport_/.test(each.message)
      : 'code' in each && each.code === UNDEFINED_TABLE && each.message.includes(`${schema}.`),
  )
}

/** Creates what is missing. @throws AuthError `SESSIONS_UNAVAILABLE` if that fails */
export function restoreTables({ restore }: TableRestorer, db: AuthKysely): Promise<unknown> {
  return restore(db).catch((cause: unknown) => {
    throw new AuthError('SESSIONS_UNAVAILABLE', { cause })
  })
}

/**
 * Adds a restorer to a dialect. A statement that misses a table creates it on its own connection, and runs
 * again. PostgreSQL has aborted its transaction by then: the tables are created after the rollback, and the
 * error is retryable.
 *
 * Also rejects statements that come while their transaction ends: Kysely does so only once it has ended, and
 * they would run outside it.
 */
export function restoringDialect(dialect: Dialect, restorer: TableRestorer): Dialect {
  return withDriver(dialect, () => restoringDriver(dialect, restorer))
}

interface ConnectionState {
  /** Creates the tables on this connection. */
  readonly restore: () => Promise<unknown>
  transaction: 'none' | 'open' | 'aborted'
  isEnding: boolean
}

function restoringDriver(dialect: Dialect, restorer: TableRestorer): Driver {
  const { internal } = restorer
  const driver = dialect.createDriver()
  const acquireConnection = driver.acquireConnection.bind(driver)
  const beginTransaction = driver.beginTransaction.bind(driver)
  const commitTransaction = driver.commitTransaction.bind(driver)
  const rollbackTransaction = driver.rollbackTransaction.bind(driver)
  const states = new WeakMap<DatabaseConnection, ConnectionState>()

  function stateOf(connection: DatabaseConnection): ConnectionState {
    const known = states.get(connection)
    if (known !== undefined) return known
    const inner = {
      executeQuery: connection.executeQuery.bind(connection),
      streamQuery: connection.streamQuery.bind(connection),
    }
    const transactions = { beginTransaction, commitTransaction, rollbackTransaction }
    const single = withDriver(dialect, () => ({ ...transactions, ...onlyConnection(inner) }))
    const state: ConnectionState = {
      restore: () => restoreTables(restorer, new Kysely({ dialect: single })),
      transaction: 'none',
      isEnding: false,
    }
    states.set(connection, state)
    connection.executeQuery = async (query, options) => {
      if (state.isEnding) throw new Error('The transaction has ended. Await its statements before it does.')
      try {
        return await inner.executeQuery(query, options)
      } catch (error) {
        if (!missesInternalTable(error, internal)) throw error
        if (internal.engine === 'postgres' && state.transaction !== 'none') {
          state.transaction = 'aborted'
          throw asConflict(error)
        }
        await state.restore()
        return inner.executeQuery(query, options)
      }
    }
    return state
  }

  async function rollBack(connection: DatabaseConnection): Promise<void> {
    const state = stateOf(connection)
    const misses = state.transaction === 'aborted'
    state.transaction = 'none'
    await rollbackTransaction(connection)
    // An error here must not hide the error of the transaction.
    if (misses) await state.restore().catch(() => {})
  }

  function end(connection: DatabaseConnection, ended: Promise<void>): Promise<void> {
    const state = stateOf(connection)
    state.isEnding = true
    const reopen = () => {
      state.isEnding = false
    }
    // One turn later, once Kysely rejects them; its migrations reuse the connection.
    void ended.catch(() => {}).then(reopen)
    return ended
  }

  return Object.assign(driver, {
    async acquireConnection(options?: Parameters<Driver['acquireConnection']>[0]) {
      const connection = await acquireConnection(options)
      stateOf(connection)
      return connection
    },
    async beginTransaction(...[connection, settings]: Parameters<Driver['beginTransaction']>) {
      await beginTransaction(connection, settings)
      stateOf(connection).transaction = 'open'
    },
    commitTransaction(connection: DatabaseConnection) {
      stateOf(connection).transaction = 'none'
      return end(connection, commitTransaction(connection))
    },
    rollbackTransaction: (connection: DatabaseConnection) => end(connection, rollBack(connection)),
  })
}

/** Returns the rest of a driver with one connection. */
function onlyConnection(connection: DatabaseConnection) {
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    releaseConnection: async () => {},
    destroy: async () => {},
  }
}

function withDriver(dialect: Dialect, createDriver: () => Driver): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver,
  }
}
