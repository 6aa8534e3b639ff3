import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely'
import type { AuthPlugin } from '../../endpoints/definition.ts'
import { ConfigurationError } from '../../protocol/errors.ts'
import { applyStatement } from './apply-statement.ts'
import { columnsOf } from './columns.ts'
import { INTERNAL_SCHEMA } from './internal-tables.ts'
import type { Engine } from './mapping.ts'
import { postgresTypes, sqliteTypes } from './migrations.ts'
import type { Table, Tables } from './table.ts'
import { USER_TABLES, withColumns } from './tables.ts'

/** Returns the tables of users and of plugins, without a database. @throws ConfigurationError */
export async function recordTables(plugins: readonly AuthPlugin[], engine: Engine): Promise<Tables> {
  const tables = new Map<string, Table>(Object.entries(withColumns(USER_TABLES, columnsOf({ plugins }))))
  // The column types of the description instead of those of the database.
  const types = {
    ...(engine === 'sqlite' ? sqliteTypes : postgresTypes(INTERNAL_SCHEMA)),
    ...{ timestamp: sql`timestamp`, flag: sql`flag`, no: sql`false`, yes: sql`true` },
  }
  for (const { id, migrations = {} } of plugins) {
    for (const [name, up] of Object.entries(migrations).sort(byName)) {
      const unread = new Set<string>()
      const db = recorder(tables, unread)
      await up(db.schema, types, db)
      if (unread.size > 0)
        throw new ConfigurationError(
          `plugins: ${id} ${name} changes tables in a way that can't be read: ${[...unread].join(', ')}. Create tables and add columns with "schema", not with raw SQL.`,
        )
    }
  }
  return Object.fromEntries(tables)
}

/** The order in which migrations run. */
const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1)

/** Creates a Kysely without a database, which applies statements to a description of tables. */
function recorder(tables: Map<string, Table>, unread: Set<string>): Kysely<unknown> {
  return new Kysely<unknown>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    plugins: [
      {
        transformQuery({ node }) {
          const problem = applyStatement(tables, node)
          if (problem !== undefined) unread.add(problem)
          return node
        },
        transformResult: async ({ result }) => result,
      },
    ],
  })
}
