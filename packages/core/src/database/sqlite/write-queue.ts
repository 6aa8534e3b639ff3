import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type SelectModifierNode,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  SqliteQueryCompiler,
} from 'kysely'
import { type TransactionSeal, transactionSeal } from '../transaction-seal.ts'
import { createPatience, type WhenFree } from './errors.ts'

/** The driver's database, which knows whether a transaction is open. */
interface WritableDatabase extends SqliteDatabase {
  readonly inTransaction: boolean
}

/**
 * Kysely over the one connection that writes. Statements wait in line; a transaction keeps the connection to itself until
 * it ends, so no other caller's statement can end up inside it. While another process holds the write lock a statement waits
 * asynchronously: the driver's own waiting would stop the event loop.
 *
 * @param options.busyTimeoutMs how long it waits before it is given up with `SESSIONS_UNAVAILABLE`
 */
export function sqliteWriteQueue(database: WritableDatabase, options: { busyTimeoutMs: number }): Dialect {
  const dialect = new SqliteDialect({ database })
  return {
    createAdapter: () => new WriteQueueAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => new WriteQueueCompiler(),
    createDriver: () => new WriteQueueDriver(database, options.busyTimeoutMs),
  }
}

/** SQLite can undo what creates tables, and its write lock is what makes a second process that migrates wait. */
class WriteQueueAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

const LOCKS = new Set<string>([
  'ForUpdate',
  'ForNoKeyUpdate',
  'ForShare',
  'ForKeyShare',
  'NoWait',
  'SkipLocked',
] satisfies SelectModifierNode['modifier'][])

/** A transaction has the whole file to itself, so there are no rows to lock: what PostgreSQL needs of `for update` is left out. */
class WriteQueueCompiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier === undefined || !LOCKS.has(node.modifier)) super.visitSelectModifier(node)
  }
}

class WriteQueueDriver extends SqliteDriver {
  readonly #database: WritableDatabase
  readonly #whenFree: WhenFree
  readonly #seal = transactionSeal()

  constructor(database: WritableDatabase, busyTimeoutMs: number) {
    super({ database })
    this.#database = database
    this.#whenFree = createPatience(busyTimeoutMs)
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return patient(await super.acquireConnection(), this.#whenFree, this.#seal)
  }

  /** Takes the write lock at once: a transaction that reads first and writes later could fail half-way. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  /** After some failures, such as a full disk, SQLite has undone it already; the failure itself is what has to be told. */
  override rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#seal.around(connection, async () => {
      if (this.#database.inTransaction) await super.rollbackTransaction(connection)
    })
  }

  override commitTransaction(connection: DatabaseConnection): Promise<void> {
    return this.#seal.around(connection, () => super.commitTransaction(connection))
  }
}

function patient(
  connection: DatabaseConnection,
  whenFree: WhenFree,
  seal: TransactionSeal,
): DatabaseConnection {
  const patientConnection: DatabaseConnection = {
    async executeQuery(query) {
      seal.check(patientConnection)
      return whenFree(() => connection.executeQuery(encode(query)))
    },
    streamQuery: (query, chunkSize) => connection.streamQuery(encode(query), chunkSize),
  }
  return patientConnection
}

/** SQLite has neither dates nor booleans: ISO 8601 text in UTC with milliseconds, and 0 or 1. */
function encode<Query extends { readonly parameters: readonly unknown[] }>(query: Query): Query {
  return { ...query, parameters: query.parameters.map(encodeValue) }
}

function encodeValue(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'boolean') return value ? 1 : 0
  return value
}
