import {
  AddColumnNode,
  type AlterTableNode,
  type KyselyPlugin,
  type QueryExecutorProvider,
  RenameColumnNode,
  sql,
} from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { type InternalNames, prefixed } from './internal-tables.ts'
import type { Engine } from './mapping.ts'

/**
 * Makes `create table`, `create index`, and `add column` skip what exists, for a migration that may find its
 * tables: another tool created them, or dropped the record that they were created.
 */
export function adoptTables(engine: Engine, existing: Columns): KyselyPlugin {
  return {
    transformQuery({ node }) {
      if (node.kind === 'CreateIndexNode') return { ...node, ifNotExists: true }
      if (node.kind === 'AlterTableNode') return withoutColumns(node, { engine, existing })
      if (node.kind !== 'CreateTableNode') return node
      const { schema, identifier } = node.table.table
      const present = schema === undefined ? existing.get(identifier.name) : undefined
      const missing = node.columns
        .map(({ column }) => column.column.name)
        .filter((name) => present !== undefined && !present.has(name))
      if (missing.length === 0) return { ...node, ifNotExists: true }
      throw new ConfigurationError(
        `The table ${identifier.name} exists, but without the columns ${missing.join(', ')}. Rename it, or use its rows with openSqliteStore() or openPostgresStore().`,
      )
    },
    transformResult: async ({ result }) => result,
  }
}

/** Skips the columns that exist. In SQLite, which can't, they are renamed to the same name. */
function withoutColumns(
  node: AlterTableNode,
  { engine, existing }: { engine: Engine; existing: Columns },
): AlterTableNode {
  const { schema, identifier } = node.table.table
  const present = existing.get(schema === undefined ? identifier.name : prefixed(identifier.name))
  const columnAlterations = node.columnAlterations?.map((alteration) => {
    if (!AddColumnNode.is(alteration)) return alteration
    const { name } = alteration.column.column.column
    if (present?.has(name) !== true) return alteration
    if (engine === 'sqlite') return RenameColumnNode.create(name, name)
    return { ...alteration, column: { ...alteration.column, ifNotExists: true } }
  })
  return columnAlterations === undefined ? node : { ...node, columnAlterations }
}

/** The names of the columns of the tables that exist, by table. */
type Columns = ReadonlyMap<string, ReadonlySet<string>>

/** Returns the names of the columns of each table. Internal tables have their prefix, also in PostgreSQL. */
export async function readColumns(
  db: QueryExecutorProvider,
  { engine, schema }: InternalNames,
): Promise<Columns> {
  const query =
    engine === 'sqlite'
      ? sql<Row>`select t.name as "table", c.name as "column"
          from sqlite_schema t join pragma_table_xinfo(t.name) c where t.type = 'table'`
      : sql<Row>`select case table_schema when ${schema} then ${prefixed('')} else '' end || table_name as "table",
            column_name as "column"
          from information_schema.columns where table_schema in (current_schema(), ${schema})`
  const { rows } = await query.execute(db)
  const columns = Map.groupBy(rows, ({ table }) => table)
  return new Map([...columns].map(([table, found]) => [table, new Set(found.map(({ column }) => column))]))
}

interface Row {
  readonly table: string
  readonly column: string
}
