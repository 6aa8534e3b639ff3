import { Pool as NeonPool } from '@neondatabase/serverless'
import { openPostgres, openPostgresStore, type PostgresClient } from '@sallyport/core/postgres'
import { drizzle } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll } from 'vitest'
import { INTERNAL_SCHEMA, internalTable } from '../../src/database/schema/internal-tables.ts'
import { closeAfterAll, closeLater, type DatabaseKind, type Row } from './database-kinds.ts'
import { startNeonProxy } from './neon-proxy.ts'
import { createPglite } from './pglite.ts'
import { PATIENT, testPostgres } from './postgres.ts'

/** A client as an app creates it. */
interface AppClient {
  readonly client: PostgresClient
  end(): Promise<unknown>
}

/** Connects with each library that an app may use. */
export const POSTGRES_CLIENTS = {
  'a Pool of pg': (url) => ofPool(new pg.Pool({ connectionString: url, max: 10 })),
  'a Pool of @neondatabase/serverless': (url) => ofPool(new NeonPool({ connectionString: url, max: 10 })),
  postgres: (url) => ofPostgresJs(url, {}),
  'postgres, as Drizzle sets it up': (url) => {
    const client = ofPostgresJs(url, { fetch_types: false })
    // Drizzle tells it to read dates as text.
    drizzle(client.client)
    return client
  },
} as const satisfies Record<string, (url: string) => AppClient>

function ofPool<Pool extends pg.Pool | NeonPool>(client: Pool): { client: Pool; end(): Promise<void> } {
  client.on('error', () => {})
  return { client, end: () => client.end() }
}

function ofPostgresJs(url: string, options: postgres.Options<Record<string, never>>) {
  const client = postgres(url, { ...options, max: 4, onnotice: () => {} })
  return { client, end: () => client.end() }
}

/** Returns a kind of database for each of these clients, and for PGlite. */
export async function postgresClientKinds(): Promise<DatabaseKind[]> {
  const server = await testPostgres()
  const close = await startNeonProxy(server.port)
  afterAll(close)
  let databases = 0
  const kinds = Object.entries(POSTGRES_CLIENTS).map(([driver, open]) =>
    clientKind(driver, async () => {
      const url = await server.createDatabase(`client_${databases++}`)
      const hand = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 })
      hand.on('error', () => {})
      closeLater({ close: () => hand.end() })
      return {
        ...open(url),
        run: async (sql) => void (await hand.query(sql)),
        rows: async (sql) => (await hand.query<Row>(sql)).rows,
      }
    }),
  )
  return [...kinds, pgliteKind()]
}

function pgliteKind(): DatabaseKind {
  return clientKind('PGlite', async () => {
    const client = await createPglite()
    return {
      client,
      end: () => client.close(),
      run: async (sql) => void (await client.exec(sql)),
      rows: async (sql) => (await client.query<Row>(sql)).rows,
    }
  })
}

interface ClientHand extends AppClient {
  run(sql: string): Promise<void>
  rows(sql: string): Promise<Row[]>
}

function clientKind(driver: string, connect: () => Promise<ClientHand>): DatabaseKind {
  closeAfterAll()
  return {
    name: 'PostgreSQL',
    driver,
    async create() {
      const { client: pool, end, run, rows } = await connect()
      closeLater({ close: async () => void (await end()) })
      return {
        url: '',
        internal: (table) => internalTable({ engine: 'postgres', schema: INTERNAL_SCHEMA }, table),
        open: async (options) => closeLater(await openPostgres({ pool }, { ...PATIENT, ...options })),
        openStore: async (mapping) => closeLater(await openPostgresStore({ pool }, { ...PATIENT, mapping })),
        run,
        rows,
      }
    },
  }
}
