import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { postgresKind, type TestDatabase } from '../support/database-kinds.ts'
import { eventually } from '../support/eventually.ts'
import {
  betterAuthSql,
  betterAuthTables,
  type HostTables,
  hostApp,
  libraryTables,
} from '../support/host-tables.ts'
import { testPostgres } from '../support/postgres.ts'
import { collectRevocations } from '../support/revocations.ts'

const server = await testPostgres()
const kind = postgresKind(server)

/** Creates a role that may change rows of the app's tables, and nothing else. */
async function connectAsHost({ run, url }: TestDatabase, role: string) {
  await run(`
    create role ${role} login password 'host' nosuperuser nocreatedb nocreaterole;
    grant usage on schema public to ${role};
    grant select, insert, update, delete, truncate on all tables in schema public to ${role}`)
  const connection = new URL(url)
  connection.username = role
  connection.password = 'host'
  const pool = new pg.Pool({ connectionString: connection.href, max: 1 })
  onTestFinished(() => pool.end())
  return {
    run: async (sql: string) => void (await pool.query(sql)),
    rows: async (sql: string) => (await pool.query<Record<string, unknown>>(sql)).rows,
  }
}

async function openMapped(database: TestDatabase, { mapping }: HostTables) {
  await database.run(betterAuthSql('PostgreSQL'))
  return [await database.openStore(mapping ?? {}), await database.openStore(mapping ?? {})] as const
}
const openOwn = async (database: TestDatabase) => [await database.open(), await database.open()] as const

describe.each([
  { name: 'mapped tables', tables: betterAuthTables('PostgreSQL'), open: openMapped, role: 'mapped_host' },
  { name: 'our tables', tables: libraryTables('PostgreSQL'), open: openOwn, role: 'own_host' },
])("a role without rights on the library's schema, on $name", ({ tables, open, role }) => {
  test('changes and deletes sessions, and every node publishes it', async () => {
    const database = await kind.create()
    const nodes = await open(database, tables)
    const published = nodes.map(({ revocations }) => collectRevocations(revocations))
    const host = await connectAsHost(database, role)
    const schemas = await host.rows(
      `select nspname from pg_namespace where nspname = 'sallyport' and has_schema_privilege(oid, 'usage, create')`,
    )
    expect(schemas).toEqual([])

    const app = hostApp(host, tables)
    await app.runAll()
    const session = await app.signUp()
    await app.deleteSession(session)
    const { id: sessionId, userId } = session
    for (const entries of published)
      await eventually(() => expect(entries).toContainEqual(expect.objectContaining({ sessionId, userId })))

    await host.run('truncate "user" cascade')
    for (const entries of published)
      await eventually(() =>
        expect(entries).toContainEqual(expect.objectContaining({ sessionId: null, userId: null })),
      )
    expect(app.failed).toEqual([])
  })
})
