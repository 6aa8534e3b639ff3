import {
  AddColumnNode,
  type AlterTableNode,
  type CreateIndexNode,
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
export function adoptTables(engine: Engine, { columns, indexes }: Existing): KyselyPlugin {
  return {
    transformQuery({ node }) {
      if (node.kind === 'CreateIndexNode') {
        requireOwnIndex(node, { engine, indexes })
        return { ...node, ifNotExists: true }
      }
      if (node.kind === 'AlterTableNode') return withoutColumns(node, { engine, existing: columns })
      if (node.kind !== 'CreateTableNode') return node
      const { schema, identifier } = node.table.table
      const present = schema === undefined ? columns.get(identifier.name) : undefined
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

/**
 * Checks that an index which would be skipped isn't that of another table. In PostgreSQL, the indexes of a
 * table keep their names when it is renamed.
 * @throws ConfigurationError
 */
function requireOwnIndex(
  { name: { name }, table: node }: CreateIndexNode,
  { engine, indexes }: { engine: Engine } & Pick<Existing, 'indexes'>,
): void {
  const owner = indexes.get(name)
  if (owner === undefined || node === undefined || node.table.schema !== undefined) return
  const table = node.table.identifier.name
  // SQLite ignores the case of names, and an app's tool may have created `Session`.
  const isOwn = engine === 'sqlite' ? owner.toLowerCase() === table.toLowerCase() : owner === table
  if (isOwn) return
  throw new ConfigurationError(`The index ${name} is on the table ${owner}. Rename the index, or drop it.`)
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

/** What a migration may find. */
interface Existing {
  readonly columns: Columns
  /** The tables of the indexes outside of our schema, by the name of the index. */
  readonly indexes: ReadonlyMap<string, string>
}

export async function readExisting(db: QueryExecutorProvider, internal: InternalNames): Promise<Existing> {
  return { columns: await readColumns(db, internal), indexes: await readIndexes(db, internal) }
}

async function readIndexes(
  db: QueryExecutorProvider,
  { engine }: InternalNames,
): Promise<Existing['indexes']> {
  const query =
    engine === 'sqlite'
      ? sql<IndexRow>`select name, tbl_name as "table" from sqlite_schema where type = 'index'`
      : sql<IndexRow>`select indexname as name, tablename as "table" from pg_indexes
          where schemaname = current_schema()`
  const { rows } = await query.execute(db)
  return new Map(rows.map(({ name, table }) => [name, table]))
}

interface IndexRow {
  readonly name: string
  readonly table: string
}

/** Returns the names of the columns of each table. Internal tables have their prefix, also in PostgreSQL. */
async function readColumns(db: QueryExecutorProvider, { engine, schema }: InternalNames): Promise<Columns> {
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
