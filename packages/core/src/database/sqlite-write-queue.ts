import { setTimeout as sleep } from 'node:timers/promises'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
} from 'kysely'
import { AuthError } from '../errors.ts'

const LONGEST_PAUSE_MS = 50

/**
 * Kysely over the one connection that writes. Statements wait in line; a transaction keeps the connection to itself until
 * it ends, so no other caller's statement can end up inside it. While another process holds the write lock a statement waits
 * asynchronously: the driver's own waiting would stop the event loop.
 *
 * @param options.busyTimeoutMs how long it waits before it is given up with `SESSIONS_UNAVAILABLE`
 */
export function sqliteWriteQueue(database: SqliteDatabase, options: { busyTimeoutMs: number }): Dialect {
  const dialect = new SqliteDialect({ database })
  return {
    createAdapter: () => new WriteQueueAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => new WriteQueueDriver(database, options.busyTimeoutMs),
  }
}

/** SQLite can undo what creates tables, and its write lock is what makes a second process that migrates wait. */
class WriteQueueAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class WriteQueueDriver extends SqliteDriver {
  readonly #whenFree: WhenFree

  constructor(database: SqliteDatabase, busyTimeoutMs: number) {
    super({ database })
    this.#whenFree = createPatience(busyTimeoutMs)
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return patient(await super.acquireConnection(), this.#whenFree)
  }

  /** Takes the write lock at once: a transaction that reads first and writes later could fail half-way. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}

function patient(connection: DatabaseConnection, whenFree: WhenFree): DatabaseConnection {
  return {
    executeQuery: (query) => whenFree(() => connection.executeQuery(encode(query))),
    streamQuery: (query, chunkSize) => connection.streamQuery(encode(query), chunkSize),
  }
}

type WhenFree = <Result>(execute: () => Promise<Result>) => Promise<Result>

function createPatience(timeoutMs: number): WhenFree {
  let exhaustedAt = Number.NEGATIVE_INFINITY

  return async function whenFree(execute) {
    const startedAt = performance.now()
    // Whoever stood in line behind a statement that was given up has waited as long: it is tried once.
    const givenUpAt = startedAt - exhaustedAt < timeoutMs ? startedAt : startedAt + timeoutMs
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        const result = await execute()
        exhaustedAt = Number.NEGATIVE_INFINITY
        return result
      } catch (error) {
        if (isStatementFault(error)) throw error
        const isBusy = sqliteCode(error).startsWith('SQLITE_BUSY')
        const now = performance.now()
        if (isBusy && now >= givenUpAt) exhaustedAt = now
        if (!isBusy || now >= givenUpAt) throw new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
      }
      await sleep(pauseMs)
    }
  }
}

function sqliteCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** The statement is at fault, not the database: a broken constraint, wrong SQL, a value that cannot be bound. */
function isStatementFault(error: unknown): boolean {
  const code = sqliteCode(error)
  if (code === '') return !(error instanceof TypeError && error.message.includes('connection is not open'))
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
