import { ConfigurationError } from '../../protocol/errors.ts'
import { memoryLimits } from '../../rate-limit/memory-limits.ts'
import { storedLimits } from '../limits.ts'
import { sqliteTypes } from '../schema/migrations.ts'
import type { LibsqlClient } from './connections/client.ts'
import { recordConnections, rejectReplica, watchCopies } from './connections/copies.ts'
import { createBusyRetry, isRejectedStatement } from './connections/errors.ts'
import { libsqlStatements } from './connections/libsql-statements.ts'
import type { RunStatement, SqliteDriver } from './driver.ts'
import { remoteLookups } from './find-remote-session.ts'
import { leaseFeed } from './lease-feed.ts'
import { libsqlWriteQueue } from './libsql-write-queue.ts'
import { pollingFeed, pollStatement } from './polling-feed.ts'

/**
 * Creates the driver of `@libsql/client`, for a local file or a server.
 * @throws ConfigurationError if another SQLite library has the file open, the file is an embedded replica, or
 * integers aren't read as numbers
 */
export async function libsqlDriver(
  client: LibsqlClient,
  { busyTimeoutMs }: { busyTimeoutMs: number },
): Promise<SqliteDriver> {
  const statements = libsqlStatements(client)
  const { isRemote } = statements
  const createRetry = () => createBusyRetry(busyTimeoutMs, isRejectedStatement)
  const [retryRead, retryCount] = [createRetry(), createRetry()]
  const run: RunStatement = async (sql, parameters = []) =>
    (await statements.execute(sql, parameters)).rows.map((row) => ({ ...row }))
  const read: RunStatement = (sql, parameters) => retryRead(() => run(sql, parameters))
  const count: RunStatement = (sql, parameters) => retryCount(() => run(sql, parameters))
  const readValues = async (sql: string, parameters: string[]) =>
    (await retryRead(() => statements.execute(sql, parameters))).rows.map((row) => Array.from(row))
  const lookUp = async (sql: string, parameters: string[]) => (await readValues(sql, parameters))[0]
  const { integer, path } = (await read(PROBE))[0] ?? {}
  if (typeof integer !== 'number')
    throw new ConfigurationError(`The client reads integers as ${typeof integer}. Set intMode to 'number'.`)
  const isFile = !isRemote && typeof path === 'string' && path !== ''
  const file = isFile ? await checkFile(path, read) : null
  return {
    dialect: libsqlWriteQueue(statements, createRetry()),
    isReplicable: true,
    limits: isRemote || isFile ? storedLimits(sqliteTypes, count) : memoryLimits(),
    read,
    problems: () => file?.problems() ?? [],
    isReplaced: file?.isReplaced,
    lookups: (sql, columns) => remoteLookups(lookUp, sql, columns),
    feed(sql, passMs) {
      if (isRemote) return leaseFeed('a remote libsql server')
      const statement = pollStatement(sql)
      return pollingFeed({
        read: (keys) => readValues(statement, [keys]),
        // The client has several connections, whose versions differ, so every pass reads the sessions.
        readVersion: () => Symbol('unknown'),
        passMs,
      })
    },
    close() {
      statements.close()
      file?.forget()
    },
  }
}

const PROBE = `select 1 as integer, (select file from pragma_database_list where name = 'main') as path`

/** Checks that no other copy of SQLite has the file open. */
async function checkFile(path: string, read: RunStatement) {
  rejectReplica(path)
  // The client may have any number of connections.
  const file = { path, library: 'libsql', wasLoaded: true, ofClient: Number.POSITIVE_INFINITY } as const
  const { requireOne, problems, isReplaced } = watchCopies(file)
  await read('select name from sqlite_schema limit 1')
  requireOne()
  return { problems, isReplaced, forget: recordConnections(file, 1) }
}
