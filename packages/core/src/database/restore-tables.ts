import { type DatabaseConnection, type Dialect, type Driver, Kysely } from 'kysely'
import { AuthError } from '../protocol/errors.ts'
import type { RateLimitStore } from '../rate-limit/rate-limit.ts'
import { asConflict } from '../session/conflict.ts'
import type { InternalNames } from './internal-tables.ts'
import type { AuthKysely, AuthTables } from './schema.ts'

/** Recreates our internal tables when a statement misses one: another tool may have dropped them. */
export interface TableRestorer {
  readonly internal: InternalNames
  /** Creates what is missing. In SQLite, it may run inside a transaction. */
  restore(db: AuthKysely): Promise<unknown>
}

/** Returns whether a statement failed because one of our internal tables doesn't exist. */
export function missesInternalTable(error: unknown, { engine, schema }: InternalNames): boolean {
  if (!(error instanceof Error)) return false
  const found =
    engine === 'sqlite'
      ? /no such table: (main\.)?sallyport_/.test(error.message)
      : 'code' in error && error.code === '42P01' && error.message.includes(`${schema}.`)
  return found || missesInternalTable(error.cause, { engine, schema })
}

/** Adds a restorer to a store of rate limits. */
export function restoringLimits(
  limits: Required<RateLimitStore>,
  options: { restorer: TableRestorer; db: AuthKysely },
): Required<RateLimitStore> {
  return {
    consume: (key, limit) => withRestoredTables(() => limits.consume(key, limit), options),
    giveBack: (key, limit) => withRestoredTables(() => limits.giveBack(key, limit), options),
  }
}

/** Runs the work again after creating the tables that it missed. */
function withRestoredTables<Result>(
  work: () => Promise<Result>,
  { restorer, db }: { restorer: TableRestorer; db: AuthKysely },
): Promise<Result> {
  return work().catch(async (error: unknown) => {
    if (!missesInternalTable(error, restorer.internal)) throw error
    await orUnavailable(restorer.restore(db))
    return work()
  })
}

function orUnavailable(restored: Promise<unknown>): Promise<unknown> {
  return restored.catch((cause: unknown) => {
    throw new AuthError('SESSIONS_UNAVAILABLE', { cause })
  })
}

/**
 * Adds a restorer to a dialect. A statement that misses a table creates it on its own connection, and runs
 * again. PostgreSQL has aborted its transaction by then: the tables are created after the rollback, and the
 * error is retryable.
 */
export function restoringDialect(dialect: Dialect, restorer: TableRestorer): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => restoringDriver(dialect, restorer),
  }
}

function restoringDriver(dialect: Dialect, { internal, restore }: TableRestorer): Driver {
  const driver = dialect.createDriver()
  const acquire = driver.acquireConnection.bind(driver)
  const begin = driver.beginTransaction.bind(driver)
  const commit = driver.commitTransaction.bind(driver)
  const rollBack = driver.rollbackTransaction.bind(driver)
  const restorers = new WeakMap<DatabaseConnection, () => Promise<unknown>>()
  const transactions = new WeakSet<DatabaseConnection>()
  const incomplete = new WeakSet<DatabaseConnection>()

  function patch(connection: DatabaseConnection): void {
    const execute = connection.executeQuery.bind(connection)
    const streamQuery = connection.streamQuery.bind(connection)
    const inner = { executeQuery: execute, streamQuery }
    const restoreHere = () => restore(kyselyOn(inner, { dialect, driver: { begin, commit, rollBack } }))
    restorers.set(connection, restoreHere)
    connection.executeQuery = async (query, options) => {
      try {
        return await execute(query, options)
      } catch (error) {
        if (!missesInternalTable(error, internal)) throw error
        if (internal.engine === 'postgres' && transactions.has(connection)) {
          incomplete.add(connection)
          throw asConflict(error)
        }
        await orUnavailable(restoreHere())
        return execute(query, options)
      }
    }
  }

  return Object.assign(driver, {
    async acquireConnection(options?: Parameters<Driver['acquireConnection']>[0]) {
      const connection = await acquire(options)
      if (!restorers.has(connection)) patch(connection)
      return connection
    },
    async beginTransaction(...[connection, settings]: Parameters<Driver['beginTransaction']>) {
      await begin(connection, settings)
      transactions.add(connection)
    },
    async commitTransaction(connection: DatabaseConnection) {
      await commit(connection)
      transactions.delete(connection)
    },
    async rollbackTransaction(connection: DatabaseConnection) {
      transactions.delete(connection)
      await rollBack(connection)
      // An error here must not hide the error of the transaction.
      if (incomplete.delete(connection))
        await restorers
          .get(connection)?.()
          .catch(() => {})
    },
  })
}

interface InnerDriver {
  readonly begin: Driver['beginTransaction']
  readonly commit: Driver['commitTransaction']
  readonly rollBack: Driver['rollbackTransaction']
}

/** Returns Kysely for one connection, which stays with its owner. */
function kyselyOn(
  connection: DatabaseConnection,
  { dialect, driver }: { dialect: Dialect; driver: InnerDriver },
): AuthKysely {
  const createDriver = (): Driver => ({
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: driver.begin,
    commitTransaction: driver.commit,
    rollbackTransaction: driver.rollBack,
    releaseConnection: async () => {},
    destroy: async () => {},
  })
  return new Kysely<AuthTables>({
    dialect: {
      createAdapter: () => dialect.createAdapter(),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => dialect.createQueryCompiler(),
      createDriver,
    },
  })
}
