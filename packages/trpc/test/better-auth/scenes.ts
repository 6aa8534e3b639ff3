import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { PGlite } from '@electric-sql/pglite'
import { createClient } from '@libsql/client'
import type { BetterAuthOptions } from 'better-auth'
import { drizzleAdapter } from 'better-auth/adapters/drizzle'
import { getMigrations } from 'better-auth/db/migration'
import Database from 'better-sqlite3'
import { drizzle as drizzleSqlite } from 'drizzle-orm/better-sqlite3'
import { drizzle as drizzleLibsql } from 'drizzle-orm/libsql'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { CamelCasePlugin, Kysely, PGliteDialect, PostgresDialect, SqliteDialect } from 'kysely'
import { Pool } from 'pg'
import postgresJs from 'postgres'
import { createPglite } from '../../../core/test/support/pglite.ts'
import type { PostgresServer } from '../../../core/test/support/postgres.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { COLUMNS } from './app.ts'
import { createPostgres, createSqlite, postgresTables, sqliteTables } from './drizzle-tables.ts'

/** Better Auth's database in an app. */
export interface Scene {
  readonly name: string
  open(server: PostgresServer): Promise<Opened>
}

interface Opened {
  readonly options: Pick<BetterAuthOptions, 'database' | 'advanced'> & object
  /** The app's client. */
  readonly db: object
  /** Runs a statement on another connection. */
  run(sql: string): Promise<unknown>
  /** The client, if guards can't find it. */
  readonly client?: Database.Database | Pool | PGlite
  /** Whether `ctx.transaction` accepts work that returns a promise. */
  readonly transacts?: boolean
  /** Where the sessions are. @default 'session' */
  readonly sessions?: string
}

const directory = temporaryDirectory()
let pglite: PGlite | undefined
let files = 0

function sqliteFile() {
  const path = join(directory, `${files++}.db`)
  const other = new Database(path)
  other.pragma('journal_mode = wal')
  return { path, run: async (sql: string) => void other.exec(sql) }
}

async function migrated(opened: Opened): Promise<Opened> {
  await (await getMigrations({ ...COLUMNS, ...opened.options })).runMigrations()
  return opened
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Databases that our stores read. */
export const SCENES: readonly Scene[] = [
  {
    name: 'better-sqlite3',
    async open() {
      const { path, run } = sqliteFile()
      const database = new Database(path)
      return migrated({ options: { database }, db: database, run })
    },
  },
  {
    name: 'node:sqlite in memory, with other names',
    async open() {
      const database = new DatabaseSync(':memory:')
      const options = {
        database,
        session: { modelName: 'login', fields: { userId: 'person', expiresAt: 'ends' } },
        user: { ...COLUMNS.user, modelName: 'people', fields: { email: 'e_mail' } },
      }
      const run = async (sql: string) => database.exec(sql)
      return migrated({ options, db: database, run, sessions: 'login' })
    },
  },
  {
    name: 'a Pool of pg',
    async open(server) {
      const database = createPool(await server.createDatabase('pool'))
      return migrated({ options: { database }, db: database, run: (sql) => database.query(sql) })
    },
  },
  {
    name: 'Kysely with a plugin that renames columns',
    async open() {
      const { path, run } = sqliteFile()
      const client = new Database(path)
      const dialect = new SqliteDialect({ database: client })
      const db = new Kysely({ dialect, plugins: [new CamelCasePlugin()] })
      const options = { database: { db, type: 'sqlite' } } as const
      return migrated({ options, db, run, client, transacts: true })
    },
  },
  {
    name: 'Drizzle on better-sqlite3, with plural names and seconds',
    async open() {
      const { path, run } = sqliteFile()
      const tables = sqliteTables((name) => `app_${name}`, 'timestamp')
      const plural = Object.fromEntries(Object.entries(tables).map(([name, table]) => [`${name}s`, table]))
      await run(createSqlite(tables))
      const db = drizzleSqlite({ client: new Database(path), schema: plural })
      const database = drizzleAdapter(db, { provider: 'sqlite', usePlural: true })
      return { options: { database }, db, run, sessions: 'app_session' }
    },
  },
  {
    name: 'Drizzle on libsql, with a casing and milliseconds',
    async open() {
      const client = createClient({ url: `file:${join(directory, `${files++}.db`)}` })
      const tables = sqliteTables((name) => name, 'timestamp_ms')
      await client.execute('pragma journal_mode = wal')
      await client.executeMultiple(createSqlite(tables, snakeCase))
      const db = drizzleLibsql({ client, casing: 'snake_case' })
      const database = drizzleAdapter(db, { provider: 'sqlite', schema: tables })
      const run = (sql: string) => client.executeMultiple(sql)
      return { options: { database }, db, run, transacts: true }
    },
  },
  {
    name: 'Drizzle on postgres.js, with other names in a schema',
    async open(server) {
      const client = postgresJs(await server.createDatabase('drizzle'), { onnotice() {} })
      const tables = postgresTables()
      await client.unsafe(createPostgres(tables))
      const db = drizzlePostgresJs({ client })
      const database = drizzleAdapter(db, { provider: 'pg', schema: tables, usePlural: true })
      const run = async (sql: string) => client.unsafe(sql)
      return { options: { database }, db, run, sessions: 'auth.login', transacts: true }
    },
  },
  {
    name: 'Kysely on pg, with uuids and snake_case in a schema',
    async open(server) {
      const pool = createPool(await server.createDatabase('uuid'))
      await pool.query('create schema auth')
      const dialect = new PostgresDialect({ pool })
      const db = new Kysely({ dialect, plugins: [new CamelCasePlugin()] })
      const options = {
        database: { db, type: 'postgres', schemaName: 'auth' },
        session: { modelName: 'login', fields: { userId: 'person' } },
        ...ids('uuid'),
      } as const
      const run = (sql: string) => pool.query(sql)
      return migrated({ options, db, run, client: pool, sessions: 'auth.login', transacts: true })
    },
  },
  {
    name: 'better-sqlite3, with numeric ids',
    async open() {
      const { path, run } = sqliteFile()
      const database = new Database(path)
      return migrated({ options: { database, ...ids('serial') }, db: database, run })
    },
  },
  {
    name: 'Drizzle on better-sqlite3, with numeric ids',
    async open() {
      const { path, run } = sqliteFile()
      const tables = sqliteTables((name) => name, 'timestamp_ms', 'serial')
      await run(createSqlite(tables))
      const db = drizzleSqlite({ client: new Database(path) })
      const database = drizzleAdapter(db, { provider: 'sqlite', schema: tables })
      return { options: { database, ...ids('serial') }, db, run }
    },
  },
  {
    name: 'a Pool of pg, with numeric ids',
    async open(server) {
      const database = createPool(await server.createDatabase('serial'))
      const run = (sql: string) => database.query(sql)
      return migrated({ options: { database, ...ids('serial') }, db: database, run })
    },
  },
  ...(['uuid', 'serial'] as const).map((generateId) => ({
    name: `Drizzle on pg, with ids of type ${generateId}`,
    async open(server: PostgresServer) {
      const client = createPool(await server.createDatabase(`drizzle_${generateId}`))
      const tables = postgresTables(generateId)
      await client.query(createPostgres(tables))
      const db = drizzlePg({ client })
      const database = drizzleAdapter(db, { provider: 'pg', schema: tables, usePlural: true })
      const run = (sql: string) => client.query(sql)
      const options = { database, ...ids(generateId) }
      return { options, db, run, sessions: 'auth.login', transacts: true }
    },
  })),
  {
    name: 'Kysely on PGlite',
    async open() {
      pglite ??= await createPglite()
      const client = pglite
      const db = new Kysely({ dialect: new PGliteDialect({ pglite: client }) })
      const options = { database: { db, type: 'postgres' }, ...ids('uuid') } as const
      const run = (sql: string) => client.exec(sql)
      return migrated({ options, db, run, client, transacts: true })
    },
  },
  {
    name: 'Drizzle on PGlite',
    async open() {
      pglite ??= await createPglite()
      const client = pglite
      const tables = postgresTables('uuid')
      await client.exec(createPostgres(tables))
      const db = drizzlePglite({ client })
      const database = drizzleAdapter(db, { provider: 'pg', schema: tables, usePlural: true })
      const run = (sql: string) => client.exec(sql)
      return { options: { database, ...ids('uuid') }, db, run, sessions: 'auth.login', transacts: true }
    },
  },
]

function ids<GenerateId extends 'serial' | 'uuid'>(generateId: GenerateId) {
  return { advanced: { database: { generateId } } }
}

export function createPool(connectionString: string): Pool {
  const pool = new Pool({ connectionString })
  // The server stops after the tests.
  pool.on('error', () => {})
  return pool
}
