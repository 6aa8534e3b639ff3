import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely'
import type { AuthPlugin } from '../endpoints/definition.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { columnsOf } from './columns.ts'
import { INTERNAL_SCHEMA } from './internal-tables.ts'
import type { Engine } from './mapping.ts'
import { postgresTypes, sqliteTypes } from './migrations.ts'
import { applyStatement } from './table-nodes.ts'
import { type Table, type Tables, USER_TABLES, withColumns } from './tables.ts'

/** What the migrations of plugins create. */
export interface RecordedTables {
  /** The tables of users and of plugins. */
  readonly tables: Tables
  /** The ids of plugins whose migrations also run raw SQL, such as for triggers. */
  readonly withRawSql: readonly string[]
}

/** Returns what migrations create, without a database. @throws ConfigurationError */
export async function recordTables(plugins: readonly AuthPlugin[], engine: Engine): Promise<RecordedTables> {
  const withRawSql = new Set<string>()
  const tables = new Map<string, Table>(Object.entries(withColumns(USER_TABLES, columnsOf({ plugins }))))
  // The column types of the description instead of those of the database.
  const types = {
    ...(engine === 'sqlite' ? sqliteTypes : postgresTypes(INTERNAL_SCHEMA)),
    ...{ timestamp: sql`timestamp`, flag: sql`flag`, no: sql`false`, yes: sql`true` },
  }
  for (const { id, migrations = {} } of plugins) {
    for (const [name, up] of Object.entries(migrations).sort(byName)) {
      const unread = new Set<string>()
      const db = recorder(tables, { unread, onRawSql: () => withRawSql.add(id) })
      await up(db.schema, types, db)
      if (unread.size > 0)
        throw new ConfigurationError(
          `plugins: ${id} ${name} changes tables in a way that can't be read: ${[...unread].join(', ')}. Create tables and add columns with "schema", not with raw SQL.`,
        )
    }
  }
  return { tables: Object.fromEntries(tables), withRawSql: [...withRawSql] }
}

/** The order in which migrations run. */
const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1)

/** Creates a Kysely without a database, which applies statements to a description of tables. */
function recorder(
  tables: Map<string, Table>,
  { unread, onRawSql }: { unread: Set<string>; onRawSql: () => void },
): Kysely<unknown> {
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
          if (node.kind === 'RawNode') onRawSql()
          const problem = applyStatement(tables, node)
          if (problem !== undefined) unread.add(problem)
          return node
        },
        transformResult: async ({ result }) => result,
      },
    ],
  })
}
