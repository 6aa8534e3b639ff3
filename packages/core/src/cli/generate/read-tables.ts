import Database from 'better-sqlite3'
import { Kysely, SqliteDialect, sql } from 'kysely'
import { migratePlugins } from '../../database/columns.ts'
import { type MigrationDialect, migrate, sqliteTypes } from '../../database/migrations.ts'
import type { AuthTables } from '../../database/schema.ts'
import type { AuthPlugin } from '../../endpoints/definition.ts'

export interface Column {
  readonly name: string
  /** The declared type in lower case, such as `timestamp` or `flag` of our migration dialect. */
  readonly type: string
  readonly isNullable: boolean
  /** True if an insert may omit it although it is never null. */
  readonly hasDefault: boolean
}

export type Tables = Readonly<Record<string, readonly Column[]>>

/** SQLite keeps declared types as they are, so these can be read back. */
const markedTypes: MigrationDialect = { ...sqliteTypes, timestamp: sql`timestamp`, flag: sql`flag` }

/** Runs the migrations of plugins on a database in memory, and returns the columns they add. */
export async function readAddedTables(plugins: readonly AuthPlugin[]): Promise<Tables> {
  const db = new Kysely<AuthTables>({ dialect: new SqliteDialect({ database: new Database(':memory:') }) })
  try {
    await migrate(db, markedTypes)
    const ours = await readTables(db)
    await migratePlugins(plugins, { db, types: markedTypes })
    const all = await readTables(db)
    return Object.fromEntries(
      Object.entries(all)
        .map(([table, columns]): [string, readonly Column[]] => {
          const known = new Set(ours[table]?.map(({ name }) => name))
          return [table, columns.filter(({ name }) => !known.has(name))]
        })
        .filter(([, columns]) => columns.length > 0),
    )
  } finally {
    await db.destroy()
  }
}

interface DeclaredColumn {
  readonly name: string
  readonly type: string
  readonly notnull: number
  readonly dflt_value: string | null
  /** The position in the primary key, from 1; 0 if it isn't part of it. */
  readonly pk: number
}

/** Reads all tables except those that record migrations. */
async function readTables(db: Kysely<AuthTables>): Promise<Tables> {
  const { rows: tables } = await sql<{ name: string }>`
    select name from pragma_table_list
    where type = 'table' and schema = 'main' and name not glob 'sqlite_*' and name not glob 'sallyport_*_migration*'
    order by name`.execute(db)
  const entries = tables.map(async ({ name }): Promise<[string, readonly Column[]]> => {
    const { rows } = await sql<DeclaredColumn>`select * from pragma_table_info(${name})`.execute(db)
    return [name, rows.map(toColumn)]
  })
  return Object.fromEntries(await Promise.all(entries))
}

function toColumn({ name, type: declared, notnull, dflt_value, pk }: DeclaredColumn): Column {
  const type = declared.toLowerCase()
  // SQLite fills it in automatically.
  const isRowNumber = type === 'integer' && pk > 0
  return { name, type, isNullable: notnull === 0 && pk === 0, hasDefault: dflt_value !== null || isRowNumber }
}
