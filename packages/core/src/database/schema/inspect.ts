import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { InternalNames } from './internal-tables.ts'
import { type Engine, quote } from './mapping.ts'
import { ROW_SUFFIX } from './postgres-triggers.ts'

/** What is wrong with a database, and what to do about it. */
export interface Problem {
  readonly problem: string
  readonly fix: string
}

/** The tables, triggers, and functions that a database must have. */
export interface Expected {
  readonly internal: InternalNames
  /** The columns of the app's tables. */
  readonly tables: ColumnNames
  /** What to do if one is missing. */
  readonly fix: string
  readonly internalTables: ColumnNames
  /** The triggers by table, in PostgreSQL. */
  readonly triggers: Readonly<Record<string, ExpectedTriggers>>
  /** What to do if an internal table, a trigger, or a function is missing. */
  readonly ourFix: string
}

interface ExpectedTriggers {
  readonly names: readonly string[]
  /** The definitions of the functions that they may run: other releases and mappings have others. */
  readonly functions: readonly string[]
}

/** Columns by table. The name of a table may include a schema. */
export type ColumnNames = Readonly<Record<string, readonly string[]>>

/** Returns what is wrong with a database. Reads its catalog, and changes nothing. */
export async function inspect<DB>(db: Kysely<DB>, expected: Expected): Promise<Problem[]> {
  const { internal, tables, fix, internalTables, triggers, ourFix } = expected
  const { engine } = internal
  const ours = [
    ...(await missingColumns(db, engine, internalTables)).map((name) => `${name} is missing`),
    ...(await triggerFaults(db, internal, triggers)),
  ]
  const problems = [
    ...(await missingColumns(db, engine, tables)).map((name) => ({
      problem: `The ${name} is missing.`,
      fix,
    })),
    ...ours.map((fault) => ({ problem: `The ${fault}.`, fix: ourFix })),
  ]
  const mode = engine === 'sqlite' ? await journalMode(db) : null
  if (mode === null || !['delete', 'truncate', 'persist'].includes(mode)) return problems
  return [
    ...problems,
    {
      problem: `The journal mode is ${mode}, so lookups wait while another process writes.`,
      fix: 'Run "pragma journal_mode = wal" once, while no process has the file open.',
    },
  ]
}

/**
 * Returns the missing tables, and the missing columns of others such as `session.version`. Reads one after
 * another: in parallel, each start would open most connections of the pool.
 */
export async function missingColumns<DB>(
  db: Kysely<DB>,
  engine: Engine,
  tables: ColumnNames,
): Promise<string[]> {
  const missing: string[] = []
  for (const [table, columns] of Object.entries(tables)) {
    const present = new Set(await readColumnNames(db, engine, table))
    if (present.size === 0) missing.push(`table ${table}`)
    else
      missing.push(
        ...columns.filter((column) => !present.has(column)).map((column) => `column ${table}.${column}`),
      )
  }
  return missing
}

/** Returns the columns of a table, also generated ones; none if it is missing. */
export async function readColumnNames<DB>(db: Kysely<DB>, engine: Engine, table: string): Promise<string[]> {
  const { schema, name } = split(table)
  const query =
    engine === 'sqlite'
      ? sql<{ name: string }>`select name from pragma_table_xinfo(${name}, ${schema ?? 'main'})`
      : sql<{ name: string }>`
          select attname as name from pg_attribute
            where attrelid = ${relation(table)} and attnum > 0 and not attisdropped`
  return (await query.execute(db)).rows.map((row) => row.name)
}

async function triggerFaults<DB>(
  db: Kysely<DB>,
  { schema }: InternalNames,
  triggers: Expected['triggers'],
): Promise<string[]> {
  const faults: string[] = []
  for (const [table, { names, functions }] of Object.entries(triggers)) {
    if (!(await isTable(db, table))) continue
    const query = sql<{ name: string; source: string }>`
      select regexp_replace(t.tgname, ${`${ROW_SUFFIX}$`}, '') as name, case n.nspname when ${schema} then p.prosrc else '' end as source
        from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_namespace n on n.oid = p.pronamespace
        where t.tgrelid = ${relation(table)} and t.tgenabled in ('O', 'A') order by t.tgname`
    const { rows } = await query.execute(db)
    const present = new Map(rows.map(({ name, source }) => [name, `$function$${source}$function$`]))
    for (const name of names) {
      const source = present.get(name)
      if (source === undefined) faults.push(`trigger ${name} on ${table} is missing`)
      else if (!functions.some((definition) => definition.includes(source)))
        faults.push(`function of the trigger ${name} on ${table} is outdated`)
    }
  }
  return faults
}

/** Returns whether this is a table. On a view, our triggers can't exist. */
async function isTable<DB>(db: Kysely<DB>, table: string): Promise<boolean> {
  const query = sql`select from pg_class where oid = ${relation(table)} and relkind not in ('v', 'm')`
  return (await query.execute(db)).rows.length > 0
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

/** Returns null if the database doesn't report it, such as a remote one. */
async function journalMode<DB>(db: Kysely<DB>): Promise<string | null> {
  const query = sql<{ journal_mode: string }>`select journal_mode from pragma_journal_mode`
  const { rows } = await query.execute(db).catch(() => ({ rows: [] }))
  return rows[0]?.journal_mode ?? null
}
