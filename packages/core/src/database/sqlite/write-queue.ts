import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  IdentifierNode,
  type SchemableIdentifierNode,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { INTERNAL_SCHEMA, prefixed } from '../schema/internal-tables.ts'
import type { SqliteConnection } from './connections/connection.ts'
import type { RetryWhileBusy } from './connections/errors.ts'

/**
 * Creates the Kysely dialect for the connection that writes. Statements are queued, and a transaction holds
 * the connection until it ends, so it never contains another caller's statement. While another process holds
 * the write lock, a statement waits asynchronously: the driver would block the event loop.
 */
export function sqliteWriteQueue(database: SqliteConnection, retryWhileBusy: RetryWhileBusy): Dialect {
  return writeQueueDialect(() => new WriteQueueDriver(database, retryWhileBusy))
}

/** Returns Kysely's SQLite dialect with another driver. */
export function writeQueueDialect(createDriver: () => Driver): Dialect {
  return {
    createAdapter: () => new WriteQueueAdapter(),
    createQueryCompiler: () => new WriteQueueCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver,
  }
}

class WriteQueueAdapter extends SqliteAdapter {
  /** SQLite can roll back DDL, and in a transaction its write lock makes a second migrating process wait. */
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

const ROW_LOCKS = /^(For(NoKey)?Update|For(Key)?Share|NoWait|SkipLocked)$/

/**
 * Omits the row locks that PostgreSQL needs: a transaction locks the whole file. Writes the schema of our
 * internal tables as a prefix.
 */
class WriteQueueCompiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (!ROW_LOCKS.test(node.modifier ?? '')) super.visitSelectModifier(node)
  }

  protected override visitSchemableIdentifier(node: SchemableIdentifierNode): void {
    if (node.schema?.name === INTERNAL_SCHEMA)
      this.visitNode(IdentifierNode.create(prefixed(node.identifier.name)))
    else super.visitSchemableIdentifier(node)
  }
}

class WriteQueueDriver extends SqliteDriver {
  readonly #database: SqliteConnection
  readonly #retryWhileBusy: RetryWhileBusy

  constructor(database: SqliteConnection, retryWhileBusy: RetryWhileBusy) {
    super({ database })
    this.#database = database
    this.#retryWhileBusy = retryWhileBusy
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const inner = await super.acquireConnection()
    return {
      executeQuery: (query) => this.#retryWhileBusy(() => inner.executeQuery(encode(query)), query.sql),
      streamQuery: (query, chunkSize) => inner.streamQuery(encode(query), chunkSize),
    }
  }

  /** Takes the write lock at once: a transaction that reads first and writes later could fail midway. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  /** After some errors, such as a full disk, SQLite has rolled back. A second rollback would hide them. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection)
  }
}

/** Encodes dates as ISO 8601 text in UTC with milliseconds, and booleans as 0 or 1. */
export function encode<Query extends { readonly parameters: readonly unknown[] }>(query: Query): Query {
  const parameters = query.parameters.map((value) => {
    if (value instanceof Date) return value.toISOString()
    return typeof value === 'boolean' ? Number(value) : value
  })
  return { ...query, parameters }
}
