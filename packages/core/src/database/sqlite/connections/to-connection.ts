import type { SqliteStatement } from 'kysely'
import { AuthError, ConfigurationError } from '../../../protocol/errors.ts'
import type { BunSqliteClient, NativeSqliteClient, NodeSqliteClient, SyncSqliteClient } from './client.ts'
import type { RowStatement, SqliteConnection } from './connection.ts'
import { libsqlConnection } from './libsql-connection.ts'

/** Statements without pragmas, some of which take effect when they are prepared. */
const IS_KEPT = /^(select|insert|update|delete|begin|commit|rollback)\b/i
const [MAX_KEPT, MAX_KEPT_LENGTH] = [200, 10_000]

/** Returns a client as a connection, which closes the client unless the app shares it with us. */
export function toConnection(
  client: SyncSqliteClient,
  { isShared = false }: { isShared?: boolean } = {},
): SqliteConnection {
  const connection = adapt(client)
  // After `close`, libsql still runs prepared statements, and other drivers report a mistake, not a 503.
  const isBetterSqlite3 = 'open' in client && !('sync' in client)
  if (isBetterSqlite3 && !isShared) return connection
  return guard(connection, { isShared, isOpen: openStateOf(client) })
}

/** Returns a function that says whether the client is open. Bun's doesn't say. */
function openStateOf(client: SyncSqliteClient): () => boolean {
  if ('isOpen' in client) return () => client.isOpen
  return 'open' in client ? () => client.open : () => true
}

function adapt(client: SyncSqliteClient): SqliteConnection {
  if ('isOpen' in client) return nodeConnection(client)
  if ('filename' in client) return bunConnection(client)
  return 'sync' in client ? libsqlConnection(client) : nativeConnection(client)
}

/** Rejects every call after `close`, and after the app has closed its client. */
function guard(
  connection: SqliteConnection,
  { isShared, isOpen }: { isShared: boolean; isOpen: () => boolean },
): SqliteConnection {
  let isClosed = false
  function requireOpen(): void {
    if (isClosed || !isOpen())
      throw new AuthError('SESSIONS_UNAVAILABLE', { cause: new Error('The connection is not open') })
  }
  return {
    get inTransaction() {
      return connection.inTransaction
    },
    prepare(sql) {
      requireOpen()
      return connection.prepare(sql)
    },
    prepareRow<Values>(sql: string) {
      const statement = connection.prepareRow<Values>(sql)
      return {
        get(...parameters: string[]) {
          requireOpen()
          return statement.get(...parameters)
        },
        all(...parameters: string[]) {
          requireOpen()
          return statement.all(...parameters)
        },
      }
    },
    close() {
      if (!isClosed && !isShared) connection.close()
      isClosed = true
    },
  }
}

/** Of better-sqlite3, whose statements are Kysely's. Lookups call them directly. */
function nativeConnection(client: NativeSqliteClient): SqliteConnection {
  const kept = new Map<string, SqliteStatement>()

  /** Kysely prepares each statement again, which takes longer than to run it. SQLite follows the schema. */
  function prepare(sql: string): SqliteStatement {
    const known = kept.get(sql)
    if (known !== undefined) return known
    const statement = client.prepare(sql)
    if (sql.length > MAX_KEPT_LENGTH || !IS_KEPT.test(sql)) return statement
    const keptStatement: SqliteStatement = {
      reader: statement.reader,
      all: (parameters) => statement.all(parameters),
      run: (parameters) => statement.run(parameters),
      // A statement can't run while it iterates.
      iterate: (parameters) => client.prepare(sql).iterate(parameters),
    }
    const [oldest] = kept.keys()
    if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    kept.set(sql, keptStatement)
    return keptStatement
  }

  return {
    get inTransaction() {
      return client.inTransaction
    },
    prepare,
    prepareRow: <Values>(sql: string) => client.prepare(sql).raw() as RowStatement<Values>,
    close: () => void client.close(),
  }
}

function nodeConnection(client: NodeSqliteClient): SqliteConnection {
  return {
    get inTransaction() {
      return client.isTransaction
    },
    prepare(sql) {
      const statement = client.prepare(sql)
      return spread(statement, statement.columns().length > 0)
    },
    prepareRow<Values>(sql: string) {
      const statement = client.prepare(sql)
      if (!('setReturnArrays' in statement))
        throw new ConfigurationError('node:sqlite returns no arrays before Node 22.16. Install a newer Node.')
      statement.setReturnArrays(true)
      return statement as RowStatement<Values>
    },
    close() {
      if (client.isOpen) client.close()
    },
  }
}

function bunConnection(client: BunSqliteClient): SqliteConnection {
  return {
    get inTransaction() {
      return client.inTransaction
    },
    prepare(sql) {
      const statement = client.prepare(sql)
      return spread(statement, statement.columnNames.length > 0)
    },
    prepareRow<Values>(sql: string) {
      const statement = client.prepare(sql)
      const all = (...parameters: string[]) => statement.values(...parameters) as Values[]
      return { all, get: (...parameters: string[]): Values | undefined => all(...parameters)[0] }
    },
    close: () => client.close(),
  }
}

/** A statement that takes its parameters one by one. */
interface SpreadStatement {
  all(...parameters: unknown[]): unknown[]
  run(...parameters: unknown[]): ReturnType<SqliteStatement['run']>
  iterate(...parameters: unknown[]): Iterable<unknown>
}

function spread(statement: SpreadStatement, reader: boolean): SqliteStatement {
  return {
    reader,
    all: (parameters) => statement.all(...parameters),
    run: (parameters) => statement.run(...parameters),
    *iterate(parameters) {
      yield* statement.iterate(...parameters)
    },
  }
}
