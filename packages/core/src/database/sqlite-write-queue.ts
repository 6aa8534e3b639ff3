import { setTimeout as sleep } from 'node:timers/promises'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
} from 'kysely'
import { AuthError } from '../errors.ts'

/** How long a write waits for another process to release the file, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000
const LONGEST_PAUSE_MS = 50

/**
 * Kysely over the one connection that writes. Statements wait in line; a transaction keeps the connection to itself until
 * it ends, so no other caller's statement can end up inside it. While another process holds the write lock a statement waits
 * asynchronously: the driver's own waiting would stop the event loop.
 */
export function sqliteWriteQueue(database: SqliteDatabase): Dialect {
  const dialect = new SqliteDialect({ database })
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => new WriteQueueDriver({ database }),
  }
}

class WriteQueueDriver extends SqliteDriver {
  override async acquireConnection(): Promise<DatabaseConnection> {
    return patient(await super.acquireConnection())
  }

  /** Takes the write lock at once: a transaction that reads first and writes later could fail half-way. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}

function patient(connection: DatabaseConnection): DatabaseConnection {
  return {
    executeQuery: (query) => whenFree(() => connection.executeQuery(encode(query))),
    streamQuery: (query, chunkSize) => connection.streamQuery(encode(query), chunkSize),
  }
}

async function whenFree<R>(execute: () => Promise<QueryResult<R>>): Promise<QueryResult<R>> {
  const givenUpAt = performance.now() + BUSY_TIMEOUT_MS
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await execute()
    } catch (error) {
      const code = sqliteCode(error)
      if (isStatementFault(code)) throw error
      const busy = code.startsWith('SQLITE_BUSY') && performance.now() < givenUpAt
      if (!busy) throw new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
    }
    await sleep(pauseMs)
  }
}

function sqliteCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** The statement is at fault, not the database: a broken constraint, wrong SQL, wrong values. */
function isStatementFault(code: string): boolean {
  return /^SQLITE_(CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG)/.test(code)
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
