import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { Kysely } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { memoryLimits } from '../../rate-limit/flexible-limits.ts'
import { memoryFeed } from '../../revocations/feed.ts'
import { NO_COLUMNS } from '../../session/added-columns.ts'
import { withAuthStore } from '../../session/auth-store.ts'
import type { Row } from '../../session/session-row.ts'
import { checkMapping } from '../check-mapping.ts'
import { addColumns } from '../columns.ts'
import type { ColumnsOptions, OpenedDatabase, OpenedStore } from '../database.ts'
import { installFeed, pruneFeedHourly } from '../install-feed.ts'
import type { StoreMapping } from '../mapping.ts'
import { migrate, sqliteTypes } from '../migrations.ts'
import type { AuthTables } from '../schema.ts'
import { sessionSql } from '../session-sql.ts'
import { configure, openCounter, openWriter, toPath } from './connect.ts'
import { sqliteFeed } from './feed.ts'
import { sqliteLimits } from './limits.ts'
import { sqliteLookups, sqliteSessions } from './sessions.ts'
import { sqliteWriteQueue } from './write-queue.ts'

/** Options of {@link openSqlite}. */
export interface SqliteOptions extends ColumnsOptions {
  /** Timeout of a write that waits for other processes, after which it is 503, in ms. @default 5_000 */
  readonly busyTimeoutMs?: number
  /** Whether to create a missing file. @default true */
  readonly create?: boolean
}

/**
 * Opens a SQLite file, creates it if it is missing, and migrates its tables.
 *
 * Only its owner can read a new file, since it holds password hashes. `:memory:` is for tests: one connection
 * reads and writes, so Step 2 also sees open transactions.
 * @param url `file:` followed by a path, a path, or `:memory:`
 * @throws ConfigurationError if the URL isn't a SQLite URL, or the file is missing and `create` is false
 */
export function openSqlite<Tables = unknown>(
  url: string,
  options?: SqliteOptions,
): Promise<OpenedDatabase<Tables>>
export async function openSqlite(
  url: string,
  { busyTimeoutMs = 5_000, create = true, columns = NO_COLUMNS }: SqliteOptions = {},
): Promise<OpenedDatabase<unknown>> {
  const path = toPath(url)
  const isMemory = path === ':memory:'
  if (!create && !isMemory) requireFile(path)
  const writer = openWriter(path)
  const kysely = new Kysely<AuthTables>({ dialect: sqliteWriteQueue(writer, { busyTimeoutMs }) })
  try {
    await configure(writer, busyTimeoutMs)
    const { applied } = await migrate(kysely, sqliteTypes)
    const added = await addColumns(kysely, sqliteTypes, columns)
    const reader = isMemory ? writer : new Database(path, { readonly: true, timeout: 0 })
    const counter = isMemory ? null : openCounter(path)
    const sessions = sqliteSessions(reader, columns)
    // Only this process can change a database in memory.
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
        // Kysely stays open, so a late write fails with 503.
        writer.close()
      },
    }
  } catch (error) {
    writer.close()
    throw error
  }
}

/**
 * Opens Step 2, the feed, and the rate limits on tables that another library owns, such as Better Auth's. It
 * only reads those tables, and adds triggers that report revocations.
 * @param options.mapping the names and date encoding of those tables. One row is read to check it
 * @throws ConfigurationError if the file doesn't exist, or the mapping doesn't fit its tables
 */
export async function openSqliteStore(
  url: string,
  options: Pick<SqliteOptions, 'busyTimeoutMs'> & { readonly mapping: StoreMapping },
): Promise<OpenedStore> {
  const { mapping, busyTimeoutMs = 5_000 } = options
  const path = toPath(url)
  requireFile(path)
  const counter = openCounter(path)
  const reader = new Database(path, { readonly: true, timeout: 0 })
  const closeFile = () => {
    reader.close()
    counter.close()
  }
  try {
    await checkMapping('sqlite', mapping, async (statement) => reader.prepare<[], Row>(statement).get())
    const kysely = new Kysely<AuthTables>({ dialect: sqliteWriteQueue(counter, { busyTimeoutMs }) })
    await installFeed(kysely, 'sqlite', mapping)
    const revocations = sqliteFeed(reader)
    const stopPruning = pruneFeedHourly(kysely)
    return {
      sessions: sqliteLookups(reader, sessionSql('sqlite', mapping)),
      revocations,
      limits: sqliteLimits(counter, { busyTimeoutMs }),
      async close() {
        stopPruning()
        revocations.close()
        closeFile()
      },
    }
  } catch (error) {
    closeFile()
    throw error
  }
}

function requireFile(path: string): void {
  if (!existsSync(path)) throw new ConfigurationError(`Database ${path} not found. Check the path.`)
}
