import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { Kysely } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { memoryLimits } from '../../rate-limit/memory-limits.ts'
import { memoryFeed } from '../../revocations/memory-feed.ts'
import { NO_COLUMNS } from '../../session/added-columns.ts'
import { withAuthStore } from '../../session/auth-store.ts'
import { addColumns } from '../columns.ts'
import type { ColumnsOptions, OpenedDatabase } from '../database.ts'
import { migrate, sqliteTypes } from '../migrations.ts'
import type { AuthTables } from '../schema.ts'
import { configure, openCounter, openWriter, toPath } from './connect.ts'
import { sqliteFeed } from './feed.ts'
import { sqliteLimits } from './limits.ts'
import { sqliteSessions } from './sessions.ts'
import { sqliteWriteQueue } from './write-queue.ts'

/** What {@link openSqlite} takes. */
export interface SqliteOptions extends ColumnsOptions {
  /** How long a write waits for another process to release the file before it is 503, in milliseconds. @default 5_000 */
  readonly busyTimeoutMs?: number
  /** Whether a file that is not there is made. @default true */
  readonly create?: boolean
}

/**
 * What {@link openSqlite} opens.
 * - `db`: Kysely, on the write queue; goes into the context of a call. `Tables` are the app's own
 * - `sessions`: Step 2, on a connection of its own that only reads
 * - `revocations`: tells of revocations, those of other processes too
 * - `limits`: counts attempts in the same database; in memory for `:memory:`
 * - `columns`, `types`, `migrations`: what it was opened with, and what the migrations did
 * - `close()`: closes its connections
 */
export type SqliteAuthDatabase<Tables> = OpenedDatabase<Tables>

/**
 * Opens a SQLite file, creates it where it is missing, and brings its tables up to date.
 *
 * A new file is readable by its owner alone, since it holds password hashes. `:memory:` is for tests: its one connection reads
 * and writes, so Step 2 also sees a transaction that is still open.
 *
 * @param url `file:` followed by a path, a bare path, or `:memory:`
 * @throws ConfigurationError when the URL names no SQLite file, or one that is not there and is not to be made
 */
export function openSqlite<Tables = unknown>(
  url: string,
  options?: SqliteOptions,
): Promise<SqliteAuthDatabase<Tables>>
export async function openSqlite(
  url: string,
  { busyTimeoutMs = 5_000, create = true, columns = NO_COLUMNS }: SqliteOptions = {},
): Promise<SqliteAuthDatabase<unknown>> {
  const path = toPath(url)
  if (!create && path !== ':memory:' && !existsSync(path)) {
    throw new ConfigurationError(`There is no database ${path}`)
  }
  const writer = openWriter(path)
  const kysely = new Kysely<AuthTables>({ dialect: sqliteWriteQueue(writer, { busyTimeoutMs }) })
  try {
    await configure(writer, busyTimeoutMs)
    const { applied } = await migrate(kysely, sqliteTypes)
    const added = await addColumns(kysely, sqliteTypes, columns)
    const isMemory = path === ':memory:'
    const reader = isMemory ? writer : new Database(path, { readonly: true, timeout: 0 })
    const counter = isMemory ? null : openCounter(path)
    const sessions = sqliteSessions(reader, columns)
    // Of what is in memory this process is the only one.
    const feed = isMemory ? null : sqliteFeed(reader)
    const revocations = feed ?? memoryFeed()
    const limits = counter === null ? memoryLimits() : sqliteLimits(counter, { busyTimeoutMs })
    const database = { db: kysely, sessions, revocations, limits, columns, types: sqliteTypes }
    return {
      ...database,
      db: withAuthStore(kysely, { sessions, revocations, limits, database }),
      migrations: { applied: [...applied, ...added] },
      async close() {
        feed?.close()
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
