import { sql } from 'kysely'
import type { AuthKysely } from '../schema/kysely-tables.ts'
import { quote } from '../schema/mapping.ts'
import type { TableTriggers } from '../schema/postgres-triggers.ts'
import { INTERNAL_TABLES } from '../schema/tables.ts'

/** What a database has of the feed. */
export interface FeedState {
  /** Whether this role can use the internal tables. */
  readonly hasTables: boolean
  /** Whether nothing is missing or outdated. */
  readonly isComplete: boolean
}

export interface NamedTriggers extends TableTriggers {
  /** The name of the function in our schema. */
  readonly logFunction: string
}

interface Wanted {
  readonly schema: string
  readonly watched: readonly NamedTriggers[]
}

const TABLES = [
  'revocation_log',
  ...Object.keys(INTERNAL_TABLES).map((name) => name.slice(name.indexOf('.') + 1)),
]

/** Reads the catalog, which needs no rights on the schema. */
export async function readFeedState(db: AuthKysely, { schema, watched }: Wanted): Promise<FeedState> {
  const wanted = watched.flatMap(({ table, logFunction, triggers }) =>
    triggers.map(({ name, type }) => ({ table: quote(table), function: logFunction, name, type })),
  )
  const { rows } = await sql<{ triggers: number; tables: number }>`
    select
      (select count(*)::int4
        from json_to_recordset(${JSON.stringify(wanted)}::json)
          as given ("table" text, function text, name text, type int)
        join pg_trigger t on t.tgrelid = to_regclass(given."table") and t.tgname = given.name
          and t.tgenabled in ('O', 'A') and t.tgtype = given.type
        join pg_proc p on p.oid = t.tgfoid and p.proname = given.function
        join pg_namespace n on n.oid = p.pronamespace and n.nspname = ${schema}) as triggers,
      (select count(*)::int4 from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ${schema} and c.relkind in ('r', 'p')
          and c.relname in (select json_array_elements_text(${JSON.stringify(TABLES)}::json))
          and has_schema_privilege(n.oid, 'usage')
          and has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
          and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete')) as tables`.execute(
    db,
  )
  const [found] = rows
  const hasTables = found?.tables === TABLES.length
  return { hasTables, isComplete: hasTables && found.triggers === wanted.length }
}

/**
 * Returns the tables that exist, and those that need a trigger for each row. A statement on a parent or a
 * partition also changes the other's rows, but runs only its own statement triggers. Foreign tables don't
 * pass their rows to those. Views have no triggers that run when their rows change.
 */
export async function findTables(
  db: AuthKysely,
  names: readonly string[],
): Promise<{ tables: string[]; byRow: Set<string>; views: string[] }> {
  const { rows } = await sql<{ name: string; isView: boolean; isByRow: boolean }>`
    select name, c.relkind in ('v', 'm') as "isView", c.relkind <> 'r' or exists (select from pg_inherits where inhrelid = c.oid) as "isByRow"
      from json_array_elements_text(${JSON.stringify(names)}::json) as given (name)
      join pg_class c on c.oid = to_regclass(name)`.execute(db)
  const namesOf = (found: typeof rows) => found.map(({ name }) => name)
  return {
    tables: namesOf(rows.filter(({ isView }) => !isView)),
    byRow: new Set(namesOf(rows.filter(({ isByRow }) => isByRow))),
    views: namesOf(rows.filter(({ isView }) => isView)),
  }
}
