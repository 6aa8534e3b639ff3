import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { InternalNames } from './internal-tables.ts'
import { type Engine, quote } from './mapping.ts'

/** What is wrong with a database, and what to do about it. */
export interface Problem {
  readonly problem: string
  readonly fix: string
}

/** The tables, triggers, and settings that a database must have. */
export interface Expected {
  readonly internal: InternalNames
  /** The columns of the app's tables. */
  readonly tables: ColumnNames
  /** What to do if one is missing. */
  readonly fix: string
  readonly internalTables: ColumnNames
  /** The names of triggers by table, in PostgreSQL. */
  readonly triggers: Readonly<Record<string, readonly string[]>>
}

/** Columns by table. The name of a table may include a schema. */
export type ColumnNames = Readonly<Record<string, readonly string[]>>

/** Returns what is wrong with a database. Reads its catalog, and changes nothing. */
export async function inspect<DB>(db: Kysely<DB>, expected: Expected): Promise<Problem[]> {
  const { internal, tables, fix, internalTables, triggers } = expected
  const { engine } = internal
  const ours = 'Restart the app with a role that may create it, or run "sallyport migrate".'
  const missing = [
    ...(await missingColumns(db, engine, tables)).map((name) => ({ name, fix })),
    ...(await missingColumns(db, engine, internalTables)).map((name) => ({ name, fix: ours })),
    ...(await missingTriggers(db, triggers)).map((name) => ({ name, fix: ours })),
  ]
  const problems = missing.map(({ name, fix }) => ({ problem: `The ${name} is missing.`, fix }))
  if (engine === 'postgres' || (await journalMode(db)) !== 'delete') return problems
  return [
    ...problems,
    {
      problem: 'The journal mode is delete, so lookups wait while another process writes.',
      fix: 'Run "pragma journal_mode = wal" once, while no process has the file open.',
    },
  ]
}

/** Returns the missing tables, and the missing columns of others such as `session.version`. */
export async function missingColumns<DB>(
  db: Kysely<DB>,
  engine: Engine,
  tables: ColumnNames,
): Promise<string[]> {
  const missing = Object.entries(tables).map(async ([table, columns]) => {
    const present = new Set(await columnNames(db, engine, table))
    if (present.size === 0) return [`table ${table}`]
    return columns.filter((column) => !present.has(column)).map((column) => `column ${table}.${column}`)
  })
  return (await Promise.all(missing)).flat()
}

async function columnNames<DB>(db: Kysely<DB>, engine: Engine, table: string): Promise<string[]> {
  const { schema, name } = split(table)
  const query =
    engine === 'sqlite'
      ? sql<{ name: string }>`select name from pragma_table_info(${name}, ${schema ?? 'main'})`
      : sql<{ name: string }>`
          select attname as name from pg_attribute
            where attrelid = ${relation(table)} and attnum > 0 and not attisdropped`
  return (await query.execute(db)).rows.map((row) => row.name)
}

async function missingTriggers<DB>(db: Kysely<DB>, triggers: Expected['triggers']): Promise<string[]> {
  const missing = Object.entries(triggers).map(async ([table, names]) => {
    if ((await columnNames(db, 'postgres', table)).length === 0) return []
    const query = sql<{ name: string }>`
      select tgname as name from pg_trigger where tgrelid = ${relation(table)} and tgenabled <> 'D'`
    const present = new Set((await query.execute(db)).rows.map(({ name }) => name))
    return names.filter((name) => !present.has(name)).map((name) => `trigger ${name} on ${table}`)
  })
  return (await Promise.all(missing)).flat()
}

/** Returns the id of a table. Unlike `to_regclass`, it needs no right on the schema that a name includes. */
function relation(table: string): RawBuilder<unknown> {
  const { schema, name } = split(table)
  return schema === null
    ? sql`to_regclass(${quote(table)})`
    : sql`(select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ${schema} and c.relname = ${name})`
}

function split(table: string): { schema: string | null; name: string } {
  const dot = table.indexOf('.')
  return dot === -1
    ? { schema: null, name: table }
    : { schema: table.slice(0, dot), name: table.slice(dot + 1) }
}

/** Returns null if the database doesn't say it, such as a remote one. */
async function journalMode<DB>(db: Kysely<DB>): Promise<string | null> {
  const query = sql<{ journal_mode: string }>`select journal_mode from pragma_journal_mode`
  const { rows } = await query.execute(db).catch(() => ({ rows: [] }))
  return rows[0]?.journal_mode ?? null
}
