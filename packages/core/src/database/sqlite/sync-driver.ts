import type { StoreMeter } from '../../events/telemetry.ts'
import { memoryLimits } from '../../rate-limit/memory-limits.ts'
import type { RateLimitStore } from '../../rate-limit/rate-limit.ts'
import { memoryFeed } from '../../revocations/feed.ts'
import type { Row } from '../../session/session-row.ts'
import { storedLimits } from '../limits.ts'
import type { Problem } from '../schema/inspect.ts'
import { sqliteTypes } from '../schema/migrations.ts'
import type { RowStatement, SqliteConnection } from './connections/connection.ts'
import { createBusyRetry, type RetryWhileBusy } from './connections/errors.ts'
import type { RunStatement, SqliteDriver } from './driver.ts'
import { sqliteLookups } from './find-session.ts'
import { pollingFeed, pollStatement } from './polling-feed.ts'
import { sqliteWriteQueue } from './write-queue.ts'

/** The connections to a file, or one connection for everything in memory. */
export interface SqliteConnections {
  readonly writer: SqliteConnection
  /** Never writes. */
  readonly reader: SqliteConnection
  /** Counts rate limits, outside any transaction of the writer. Null in memory. */
  readonly counter: SqliteConnection | null
  /** Whether the app writes with the same connection. */
  readonly isShared: boolean
  /** Returns signs that another copy of SQLite has the file open. */
  problems(): Problem[]
  /** Returns whether the file was removed or replaced since it was opened. Absent in memory. */
  readonly isReplaced?: (() => boolean) | undefined
  /** Closes them, and never the app's client. */
  close(): void
}

/** Creates the driver of a synchronous library, whose statements are prepared once. */
export function syncDriver(
  { writer, reader, counter, isShared, problems, isReplaced, close }: SqliteConnections,
  { busyTimeoutMs }: { busyTimeoutMs: number },
): SqliteDriver {
  const retryWhileBusy = createBusyRetry(busyTimeoutMs)
  const read = runOn(reader)
  const meter: StoreMeter = { system: 'sqlite', telemetry: undefined }
  return {
    dialect: sqliteWriteQueue(writer, createBusyRetry(busyTimeoutMs)),
    isReplicable: false,
    limits: counter === null ? memoryLimits() : limitsOn(counter, createBusyRetry(busyTimeoutMs)),
    read: (sql, parameters) => retryWhileBusy(() => read(sql, parameters)),
    lookups: (sql, columns) => sqliteLookups(reader, { sql, columns, retryWhileBusy, meter }),
    feed(sql, passMs) {
      // Only we can change a database in memory.
      if (counter === null && !isShared) return Object.assign(memoryFeed(), { close() {} })
      // Prepared by the first pass, like lookups.
      let poll: RowStatement<unknown[]> | undefined
      const readKeys = (keys: string) =>
        retryWhileBusy(() => {
          poll ??= reader.prepareRow<unknown[]>(pollStatement(sql))
          return poll.all(keys)
        })
      const version = versionOf(reader)
      // In another mode than WAL, each commit of another process locks out readers for a moment.
      return pollingFeed({ read: readKeys, readVersion: () => retryWhileBusy(version), passMs, meter })
    },
    problems,
    isReplaced,
    // Kysely stays open, so a late write fails with 503.
    close,
  }
}

function limitsOn(counter: SqliteConnection, retryWhileBusy: RetryWhileBusy): Required<RateLimitStore> {
  const run = runOn(counter)
  return storedLimits(sqliteTypes, (sql, values) => retryWhileBusy(() => run(sql, values)))
}

function runOn(connection: SqliteConnection): RunStatement {
  return async (sql, parameters = []) => {
    const statement = connection.prepare(sql)
    if (statement.reader) return statement.all(parameters) as Row[]
    statement.run(parameters)
    return []
  }
}

/** Returns a function whose result changes with every commit, also one of this connection. */
function versionOf(connection: SqliteConnection): () => unknown {
  const others = connection.prepareRow<[number]>('pragma data_version')
  const own = connection.prepareRow<[number]>('select total_changes()')
  return () => `${others.get()} ${own.get()}`
}
