import { join } from 'node:path'
import type { AddedColumns } from '@sallyport/core/auth'
import {
  openPostgres,
  openPostgresStore,
  type PostgresOptions,
  type StoreMapping,
} from '@sallyport/core/postgres'
import { openSqlite, openSqliteStore } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll } from 'vitest'
import type { OpenedStore } from '../../src/database/database.ts'
import {
  INTERNAL_SCHEMA,
  type InternalTable,
  internalTable,
} from '../../src/database/schema/internal-tables.ts'
import { PATIENT, type PostgresServer, testPostgres } from './postgres.ts'
import { temporaryDirectory } from './temporary-directory.ts'

export type Row = Record<string, unknown>

/** What an app opens, on either database. */
export type OpenDatabase = Awaited<ReturnType<typeof openSqlite>> | Awaited<ReturnType<typeof openPostgres>>
export type OpenStore = OpenedStore

/** A test database, and a connection to it outside any store. */
export interface TestDatabase {
  readonly url: string
  /** Returns the quoted name of an internal table. */
  internal(table: InternalTable): string
  open(options?: { columns?: AddedColumns; migrate?: boolean }): Promise<OpenDatabase>
  openStore(mapping: StoreMapping, options?: { columns?: AddedColumns }): Promise<OpenStore>
  /** Runs statements directly. */
  run(sql: string): Promise<void>
  rows(sql: string): Promise<Row[]>
}

/** SQLite or PostgreSQL. */
export interface DatabaseKind {
  readonly name: 'SQLite' | 'PostgreSQL'
  /** How it's opened. */
  readonly driver: string
  /** Creates an empty database. Everything opened on it is closed after the tests of the file. */
  create(): Promise<TestDatabase>
}

const closing: (() => unknown)[] = []

export function closeLater<Closable extends { close(): Promise<void> }>(opened: Closable): Closable {
  closing.push(opened.close)
  return opened
}

/**
 * Returns the databases for `describe.each`. PostgreSQL uses one server per test file.
 *
 * @param settings added to its `postgresql.conf`
 * @param options of each store, after {@link PATIENT}: a small pool makes opening a store cheaper
 */
export async function databaseKinds(
  settings?: Readonly<Record<string, string>>,
  options?: PostgresOptions,
): Promise<[sqlite: DatabaseKind, postgres: DatabaseKind]> {
  const postgres = await testPostgres(settings)
  return [sqliteKind(), postgresKind(postgres, options)]
}

/** Creates SQLite databases in a separate directory. */
export function sqliteKind(): DatabaseKind {
  const directory = temporaryDirectory()
  closeAfterAll()
  let files = 0
  return {
    name: 'SQLite',
    driver: 'a URL',
    async create() {
      const url = join(directory, `${files++}.db`)
      const hand = new Database(url)
      hand.pragma('journal_mode = wal')
      hand.pragma('synchronous = off')
      hand.pragma('foreign_keys = on')
      closing.push(() => hand.close())
      return {
        url,
        internal: (table) => internalTable({ engine: 'sqlite', schema: INTERNAL_SCHEMA }, table),
        open: async (options) => closeLater(await openSqlite(url, options)),
        openStore: async (mapping, further) =>
          closeLater(await openSqliteStore(url, { mapping, ...further })),
        run: async (sql) => void hand.exec(sql),
        rows: async (sql) => hand.prepare<[], Row>(sql).all(),
      }
    },
  }
}

/** Creates PostgreSQL databases on the given server. */
export function postgresKind(server: PostgresServer, options?: PostgresOptions): DatabaseKind {
  closeAfterAll()
  let databases = 0
  return {
    name: 'PostgreSQL',
    driver: 'a URL',
    async create() {
      const url = await server.createDatabase(`test_${databases++}`)
      // One connection, replaced after the server was down.
      const hand = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 })
      hand.on('error', () => {})
      closing.push(() => hand.end())
      return {
        url,
        internal: (table) =>
          internalTable({ engine: 'postgres', schema: options?.schema ?? INTERNAL_SCHEMA }, table),
        open: async (further) => closeLater(await openPostgres(url, { ...PATIENT, ...options, ...further })),
        openStore: async (mapping, further) =>
          closeLater(await openPostgresStore(url, { ...PATIENT, ...options, mapping, ...further })),
        run: async (sql) => void (await hand.query(sql)),
        rows: async (sql) => (await hand.query<Row>(sql)).rows,
      }
    },
  }
}

/** Closes everything before the server stops: hooks registered last run first. */
export function closeAfterAll(): void {
  afterAll(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
}
