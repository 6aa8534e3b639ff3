import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ConfigurationError, isAuthError } from '../../../protocol/errors.ts'
import { nodeVersionFault } from '../../../protocol/node-version.ts'
import type { SqliteConnections } from '../sync-driver.ts'
import type { SqliteSource, SyncSqliteClient } from './client.ts'
import type { SqliteConnection } from './connection.ts'
import { type OpenFile, recordConnections, rejectReplica, watchCopies } from './copies.ts'
import { createBusyRetry, sqliteCode } from './errors.ts'
import { loadedLibraries, type SqliteLibrary } from './libraries.ts'
import { toConnection } from './to-connection.ts'

/** Returns the path of a database URL. @throws ConfigurationError also if Node is too old for the driver */
export function toPath(url: string): string {
  const fault = nodeVersionFault()
  if (fault !== null) throw new ConfigurationError(fault)
  const path = url.replace(/^file:(\/\/)?/, '')
  // As a path, a URL in quotes, with parameters, or of another database would become a new file.
  // Messages contain the path, and a URL has passwords.
  const isOther = /^["'\s]|:\/\//.test(path) || /^(?!file:)\w{2,}:|^file:.*\?/.test(url)
  if (path !== '' && !isOther) return path
  throw new ConfigurationError(
    'The URL is not a SQLite URL. Write file:data/app.db or :memory:, without quotes or parameters, or open postgres:// with openPostgres().',
  )
}

/** @throws ConfigurationError if the source names a file that does not exist */
export function requireFile(source: SqliteSource<unknown>): void {
  const path = typeof source === 'string' ? toPath(source) : ':memory:'
  if (path !== ':memory:' && !existsSync(path))
    throw new ConfigurationError(`Database ${path} not found. Check the path.`)
}

export interface ConnectOptions {
  readonly busyTimeoutMs: number
  /** Whether we may change the journal mode: the file isn't another library's. */
  readonly wal: boolean
}

/**
 * Opens better-sqlite3's connections to a file, and creates a missing one.
 * @throws ConfigurationError if the package is missing, or another SQLite library has the file open
 */
export async function openFile(path: string, options: ConnectOptions): Promise<SqliteConnections> {
  const { default: Database } = await loadBetterSqlite()
  if (path === ':memory:') {
    const connection = toConnection(new Database(path))
    runPragma(connection, 'foreign_keys = on')
    return inMemory(connection, false)
  }
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true })
    // Created before the driver opens it, so others can never read it.
    closeSync(openSync(path, 'a', 0o600))
  }
  const library = 'better-sqlite3'
  const loaded = loadedLibraries()
  // The app may have another version. Opening a database loads ours, and shows whether it's the same.
  if (loaded.includes(library)) new Database(':memory:').close()
  const wasLoaded = loaded.includes(library) && loadedLibraries().length === loaded.length
  // The app may change the working directory.
  const file: OpenFile = { path: resolve(path), library, wasLoaded }
  // The write queue waits for locks instead: the driver would block the event loop.
  const open = (readonly: boolean) => toConnection(new Database(path, { timeout: 0, readonly }))
  return openConnections(file, open, options)
}

async function loadBetterSqlite() {
  // Only in a `try` block does Turbopack build an app without the package.
  try {
    return await import('better-sqlite3')
  } catch (cause) {
    throw new ConfigurationError('better-sqlite3 is not installed. Install it, or pass { client }.', {
      cause,
    })
  }
}

/**
 * Opens connections to the file of a client, with the client's own copy of SQLite. In memory, they share the
 * client's connection.
 * @throws ConfigurationError if another SQLite library has the file open
 */
export async function openSiblings(
  client: SyncSqliteClient,
  busyTimeoutMs: number,
): Promise<SqliteConnections> {
  const shared = toConnection(client, { isShared: true })
  const row = await createBusyRetry(busyTimeoutMs)(() =>
    shared.prepareRow<[string]>(`select file from pragma_database_list where name = 'main'`).get(),
  ).catch((error) => {
    throw driverError(error)
  })
  const path = row?.[0] ?? ''
  if (path === '') return inMemory(shared, true)
  rejectReplica(path)
  const Client = client.constructor as new (path: string, options: object) => SyncSqliteClient
  const open = (readonly: boolean) => {
    // Only Bun needs `readwrite`, and libsql can't open a file read-only.
    const connection = toConnection(new Client(path, { timeout: 0, readwrite: true }))
    if (readonly) runPragma(connection, 'query_only = on')
    return connection
  }
  const file: OpenFile = { path, library: libraryOf(client), wasLoaded: true, ofClient: 1 }
  return openConnections(file, open, { busyTimeoutMs, wal: false })
}

function inMemory(connection: SqliteConnection, isShared: boolean): SqliteConnections {
  const close = () => connection.close()
  return { writer: connection, reader: connection, counter: null, isShared, problems: () => [], close }
}

function libraryOf(client: SyncSqliteClient): SqliteLibrary {
  if ('isOpen' in client) return 'node:sqlite'
  if ('filename' in client) return 'bun:sqlite'
  return 'sync' in client ? 'libsql' : 'better-sqlite3'
}

async function openConnections(
  file: OpenFile,
  open: (readonly: boolean) => SqliteConnection,
  { busyTimeoutMs, wal }: ConnectOptions,
): Promise<SqliteConnections> {
  const { requireOne, problems, isReplaced } = watchCopies(file)
  const forget = recordConnections(file, 3)
  const opened: SqliteConnection[] = []
  const connect = (readonly: boolean) => {
    const connection = open(readonly)
    opened.push(connection)
    return connection
  }
  const closeAll = () => {
    for (const connection of opened) connection.close()
    forget()
  }
  try {
    const [writer, reader, counter] = [connect(false), connect(true), connect(false)]
    // Another process that opened the same new file may be switching it to WAL.
    await createBusyRetry(busyTimeoutMs)(() => {
      if (wal) runPragma(writer, 'journal_mode = wal')
      runPragma(writer, 'synchronous = full')
      runPragma(writer, 'foreign_keys = on')
      // A power failure may lose attempts: they don't wait for the disk. It can't damage a file in WAL mode.
      const mode = counter.prepareRow<[string]>('pragma journal_mode').get()
      if (mode?.[0] === 'wal') runPragma(counter, 'synchronous = normal')
      reader.prepare('select name from sqlite_schema limit 1').all([])
    })
    requireOne()
    return { writer, reader, counter, isShared: false, problems, isReplaced, close: closeAll }
  } catch (error) {
    closeAll()
    const cause = driverError(error)
    if (!/^SQLITE_(CANTOPEN|READONLY)/.test(sqliteCode(cause))) throw cause
    throw new Error(`SQLite can't open ${file.path}. The file and its folder must be writable.`, { cause })
  }
}

/** While a program starts, the driver's error says more than a 503. */
const driverError = (error: unknown): unknown => (isAuthError(error) ? error.cause : error)

function runPragma(connection: SqliteConnection, pragma: string): void {
  const statement = connection.prepare(`pragma ${pragma}`)
  if (statement.reader) statement.all([])
  else statement.run([])
}
