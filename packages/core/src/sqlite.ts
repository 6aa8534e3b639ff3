import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { Kysely } from 'kysely'
import type { SessionStore } from './adapters/adapter.ts'
import { type AuthDatabase, withAuthStore } from './adapters/direct-adapter.ts'
import { type MigrationDialect, type MigrationReport, migrate, sqliteTypes } from './database/migrations.ts'
import type { AuthTables } from './database/schema.ts'
import { sqliteSessions } from './database/sqlite-sessions.ts'
import { sqliteWriteQueue } from './database/sqlite-write-queue.ts'
import { ConfigurationError } from './errors.ts'
import { memoryLimits } from './rate-limit/memory-limits.ts'
import type { RateLimitStore } from './rate-limit/rate-limit.ts'
import { sqliteLimits } from './rate-limit/sqlite-limits.ts'
import type { RevocationFeed } from './revocations/feed.ts'
import { memoryFeed } from './revocations/memory-feed.ts'

export type { MigrationReport } from './database/migrations.ts'
export type {
  AccountTable,
  AuditTable,
  AuthTables,
  RateLimitTable,
  SessionTable,
  Timestamp,
  UserTable,
} from './database/schema.ts'

/** An open database. */
export interface SqliteAuthDatabase<Tables> {
  /** Kysely on the write queue; goes into the context of a call as `db`. `Tables` are the app's own. */
  readonly db: Kysely<AuthTables & Tables> & AuthDatabase
  /** Step 2, on a connection of its own that only reads. */
  readonly sessions: SessionStore
  readonly revocations: RevocationFeed
  /** Counts attempts in the same file; in memory for `:memory:`. */
  readonly limits: RateLimitStore
  /** How migrations write their types here. */
  readonly types: MigrationDialect
  /** What the migrations did while opening. */
  readonly migrations: MigrationReport
  close(): Promise<void>
}

/**
 * Opens a SQLite file, creates it where it is missing, and brings its tables up to date.
 *
 * A new file is readable by its owner alone, since it holds password hashes. `:memory:` is for tests: its one connection reads
 * and writes, so Step 2 also sees a transaction that is still open.
 *
 * @param url `file:` followed by a path, a bare path, or `:memory:`
 * @param options.busyTimeoutMs how long a write waits for another process to release the file before it is 503
 * @param options.create whether a file that is not there is made
 * @throws ConfigurationError when the URL names no SQLite file, or one that is not there and is not to be made
 */
export async function openSqlite<Tables = unknown>(
  url: string,
  { busyTimeoutMs = 5_000, create = true }: { busyTimeoutMs?: number; create?: boolean } = {},
): Promise<SqliteAuthDatabase<Tables>> {
  const path = toPath(url)
  if (!create && path !== ':memory:' && !existsSync(path)) {
    throw new ConfigurationError(`There is no database ${path}`)
  }
  const writer = openWriter(path)
  const kysely = new Kysely<AuthTables & Tables>({ dialect: sqliteWriteQueue(writer, { busyTimeoutMs }) })
  try {
    await configure(writer, busyTimeoutMs)
    const migrations = await migrate(kysely, sqliteTypes)
    const isMemory = path === ':memory:'
    const reader = isMemory ? writer : new Database(path, { readonly: true, timeout: 0 })
    const counter = isMemory ? null : openCounter(path)
    const sessions = sqliteSessions(reader)
    const revocations = memoryFeed()
    const limits = counter === null ? memoryLimits() : sqliteLimits(counter, { busyTimeoutMs })
    return {
      db: withAuthStore(kysely, { sessions, revocations, limits }),
      sessions,
      revocations,
      limits,
      types: sqliteTypes,
      migrations,
      async close() {
        reader.close()
        counter?.close()
        // Kysely stays, so that a late write is refused with 503 like one to any other database that is gone.
        writer.close()
      },
    }
  } catch (error) {
    writer.close()
    throw error
  }
}

function toPath(url: string): string {
  const path = url.replace(/^file:(\/\/)?/, '')
  if (path === '' || /^[a-z]+:\/\//i.test(path)) {
    throw new ConfigurationError('A SQLite database URL looks like file:data/app.db or :memory:')
  }
  return path
}

function openWriter(path: string): Database.Database {
  const isNew = path !== ':memory:' && !existsSync(path)
  if (isNew) {
    mkdirSync(dirname(path), { recursive: true })
    // Made before the driver opens it, so that it is never readable by others.
    closeSync(openSync(path, 'a', 0o600))
  }
  // The write queue waits instead: the driver's own waiting would stop the event loop.
  const writer = new Database(path, { timeout: 0 })
  return writer
}

/** Its writes need not survive a power failure, so they do not wait for the disk. */
function openCounter(path: string): Database.Database {
  const counter = new Database(path, { timeout: 0 })
  counter.pragma('synchronous = NORMAL')
  return counter
}

/** Tried again while the file is busy: of several processes that start on a new file, SQLite lets one switch it to WAL. */
async function configure(writer: Database.Database, busyTimeoutMs: number): Promise<void> {
  const givenUpAt = performance.now() + busyTimeoutMs
  for (;;) {
    try {
      writer.pragma('journal_mode = WAL')
      writer.pragma('synchronous = FULL')
      writer.pragma('foreign_keys = ON')
      return
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
      if (!isBusy || performance.now() >= givenUpAt) throw error
    }
    await sleep(10)
  }
}
