import { createRequire } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createClient } from '@libsql/client'
import { openSqlite, openSqliteStore, type SqliteClient } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { closeAfterAll, closeLater, type DatabaseKind, type Row } from './database-kinds.ts'
import { startHranaStub } from './hrana-stub.ts'
import { temporaryDirectory } from './temporary-directory.ts'

/** A client as an app creates it. */
export interface AppClient {
  readonly client: SqliteClient
  /** Runs statements on the client. */
  run(sql: string): Promise<void>
  rows(sql: string): Promise<Row[]>
  close(): void
}

/** `@libsql/client` depends on it. Its types are those of better-sqlite3. */
const LibsqlDatabase: typeof Database = createRequire(
  createRequire(import.meta.url).resolve('@libsql/client'),
)('libsql')

/** Opens a file with each library that an app may use. */
export const SQLITE_CLIENTS = {
  'better-sqlite3': (path) => ofSync(new Database(path, { timeout: 0 })),
  libsql: (path) => ofSync(new LibsqlDatabase(path)),
  'node:sqlite': (path) => ofSync(new DatabaseSync(path)),
  '@libsql/client': (path) => ofLibsql(path === ':memory:' ? path : `file:${path}`),
} as const satisfies Record<string, (path: string) => AppClient>

function ofSync(client: Database.Database | DatabaseSync): AppClient {
  return {
    client,
    run: async (sql) => void client.exec(sql),
    rows: async (sql) => client.prepare(sql).all() as Row[],
    close: () => void client.close(),
  }
}

function ofLibsql(url: string): AppClient {
  const client = createClient({ url })
  return {
    client,
    run: (sql) => client.executeMultiple(sql),
    rows: async (sql) => (await client.execute(sql)).rows.map((row) => ({ ...row })),
    close: () => client.close(),
  }
}

/** Returns a kind of database for each of these clients. */
export function sqliteClientKinds(): DatabaseKind[] {
  const directory = temporaryDirectory()
  return Object.entries(SQLITE_CLIENTS).map(([driver, open], index) => {
    let files = 0
    return clientKind(`a client of ${driver}`, () => open(join(directory, `${index}-${files++}.db`)))
  })
}

/** Returns the kind of a remote libsql database, on a stub of its server. */
export function remoteKind(): DatabaseKind {
  const directory = temporaryDirectory()
  let files = 0
  return clientKind('a client of @libsql/client, on a stub of a remote server', async () => {
    const stub = await startHranaStub(join(directory, `${files++}.db`))
    closeLater(stub)
    return ofLibsql(stub.url)
  })
}

function clientKind(driver: string, openClient: () => AppClient | Promise<AppClient>): DatabaseKind {
  closeAfterAll()
  return {
    name: 'SQLite',
    driver,
    async create() {
      const { client, run, rows, close } = await openClient()
      closeLater({ close: async () => close() })
      return {
        url: '',
        open: async (options) => closeLater(await openSqlite({ client }, options)),
        openStore: async (mapping) => closeLater(await openSqliteStore({ client }, { mapping })),
        internal: (table) => `sallyport_${table}`,
        run,
        rows,
      }
    },
  }
}
