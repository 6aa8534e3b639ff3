import { ConfigurationError } from '../../protocol/errors.ts'
import type { SqliteSource } from './connections/client.ts'
import { type ConnectOptions, openFile, openSiblings, toPath } from './connections/connect.ts'
import type { SqliteDriver } from './driver.ts'
import { libsqlDriver } from './libsql-driver.ts'
import { syncDriver } from './sync-driver.ts'

/** Opens a database. The kind of a client is recognized by its members, so no driver is imported. */
export async function openDriver(source: SqliteSource, options: ConnectOptions): Promise<SqliteDriver> {
  if (typeof source === 'string') return syncDriver(await openFile(toPath(source), options), options)
  const { client } = source
  if ('execute' in client) return libsqlDriver(client, options)
  if ('open' in client || 'isOpen' in client || 'filename' in client)
    return syncDriver(await openSiblings(client, options.busyTimeoutMs), options)
  throw new ConfigurationError(
    'client is not a SQLite client. Pass a Database of better-sqlite3, libsql, or bun:sqlite, a DatabaseSync of node:sqlite, or a client of @libsql/client.',
  )
}
