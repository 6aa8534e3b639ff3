import type { StoreMeter } from '../../events/telemetry.ts'
import { memoryLimits } from '../../rate-limit/memory-limits.ts'
import { memoryFeed } from '../../revocations/feed.ts'
import type { Row } from '../../session/session-row.ts'
import { storedLimits } from '../limits.ts'
import { sqliteTypes } from '../schema/migrations.ts'
import type { RowStatement, SqliteConnection } from './connections/connection.ts'
import { createBusyRetry, type RetryWhileBusy } from './connections/errors.ts'
import type { RunStatement, SqliteDriver } from './driver.ts'
import { sqliteLookups } from './find-session.ts'
import { pollingFeed, pollStatement } from './polling-feed.ts'
import { sqliteWriteQueue } from './write-queue.ts'

/** The connections to a file, or one connection for everything in memory. */
export interface SqliteConnections extends Pick<SqliteDriver, 'problems' | 'isReplaced' | 'close'> {
  readonly writer: SqliteConnection
  /** Never writes. */
  readonly reader: SqliteConnection
  /** Counts rate limits, outside any transaction of the writer. Null in memory. */
  readonly counter: SqliteConnection | null
  /** Whether the app writes with the same connection. */
  readonly isShared: boolean
}

/** Creates the driver of a synchronous library, whose statements are prepared once. */
export function syncDriver(
  { writer, reader, counter, isShared, ...file }: SqliteConnections,
  { busyTimeoutMs }: { busyTimeoutMs: number },
): SqliteDriver {
  const retryWhileBusy = createBusyRetry(busyTimeoutMs)
  const meter: StoreMeter = { system: 'sqlite', telemetry: undefined }
  return {
    // `close` leaves Kysely open, so a late write fails with 503.
    ...file,
    dialect: sqliteWriteQueue(writer, createBusyRetry(busyTimeoutMs)),
    isReplicable: false,
    limits:
      counter === null
        ? memoryLimits()
        : storedLimits(sqliteTypes, runOn(counter, createBusyRetry(busyTimeoutMs))),
    read: runOn(reader, retryWhileBusy),
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
  }
}

function runOn(connection: SqliteConnection, retryWhileBusy: RetryWhileBusy): RunStatement {
  return (sql, parameters = []) =>
    retryWhileBusy(() => {
      const statement = connection.prepare(sql)
      if (statement.reader) return statement.all(parameters) as Row[]
      statement.run(parameters)
      return []
    })
}

/** Returns a function whose result changes with every commit, also one of this connection. */
function versionOf(connection: SqliteConnection): () => unknown {
  const others = connection.prepareRow<[number]>('pragma data_version')
  const own = connection.prepareRow<[number]>('select total_changes()')
  return () => `${others.get()} ${own.get()}`
}
