import { sql } from 'kysely'
import { LOG_FUNCTION, type PostgresTrigger } from '../postgres-triggers.ts'
import type { AuthKysely } from '../schema.ts'
import { INTERNAL_TABLES } from '../tables.ts'

/** What a database has of the feed. */
export interface FeedState {
  /** Whether the triggers notify this node. */
  readonly hasTriggers: boolean
  /** Whether this role can use the internal tables. */
  readonly hasTables: boolean
  /** Whether nothing is missing or outdated. */
  readonly isComplete: boolean
}

interface Wanted {
  readonly schema: string
  readonly triggers: readonly PostgresTrigger[]
  readonly version: string
}

const TABLES = [
  'revocation_log',
  ...Object.keys(INTERNAL_TABLES).map((name) => name.slice(name.indexOf('.') + 1)),
]

/** Reads the catalog, which needs no rights on the schema. Tables that don't exist yet need no triggers. */
export async function readFeedState(
  db: AuthKysely,
  { schema, triggers, version }: Wanted,
): Promise<FeedState> {
  const expected = triggers.map(({ table, name, type, arguments: columns }) => ({
    table,
    name,
    type,
    // PostgreSQL ends each argument with a null byte.
    arguments: Buffer.from(columns.map((column) => `${column}\0`).join('')).toString('hex'),
  }))
  const { rows } = await sql<{
    wanted: number
    triggers: number
    enabled: number
    tables: number
    version: string | null
  }>`
    with wanted as (
      select to_regclass("table") as relation, name, type, arguments
        from json_to_recordset(${JSON.stringify(expected)}::json)
          as given ("table" text, name text, type int, arguments text)
        where to_regclass("table") is not null
    ), trigger as (
      select wanted.*, t.tgtype, t.tgargs, p.oid is not null as is_ours
        from wanted join pg_trigger t on t.tgrelid = wanted.relation and t.tgname = wanted.name and t.tgenabled in ('O', 'A')
        left join (pg_proc p join pg_namespace n on n.oid = p.pronamespace)
          on p.oid = t.tgfoid and n.nspname = ${schema} and p.proname = ${LOG_FUNCTION}
    )
    select (select count(*)::int4 from wanted) as wanted,
      (select count(*)::int4 from trigger
        where is_ours and tgtype = type and encode(tgargs, 'hex') = arguments) as triggers,
      (select count(*)::int4 from trigger where is_ours) as enabled,
      (select count(*)::int4 from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = ${schema} and c.relkind in ('r', 'p')
          and c.relname in (select json_array_elements_text(${JSON.stringify(TABLES)}::json))
          and has_schema_privilege(n.oid, 'usage')
          and has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
          and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete')) as tables,
      (select obj_description(p.oid, 'pg_proc') from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = ${schema} and p.proname = ${LOG_FUNCTION}) as version`.execute(db)
  const [found] = rows
  const hasTables = found?.tables === TABLES.length
  const isComplete = hasTables && found?.triggers === found?.wanted && found.version === version
  return { hasTables, hasTriggers: found?.enabled === found?.wanted, isComplete }
}

/** Returns the statements that give the current role the rights to create the schema and the triggers. */
export async function missingGrants(
  db: AuthKysely,
  { schema, tables }: { schema: string; tables: readonly string[] },
): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    select format('grant create on database %I to %I', current_database(), current_user) as text
      where not has_database_privilege(current_database(), 'create')
        and not exists (select from pg_namespace where nspname = ${schema})
    union all
    select format('grant usage, create on schema %I to %I', nspname, current_user) from pg_namespace
      where nspname = ${schema}
        and not (has_schema_privilege(oid, 'usage') and has_schema_privilege(oid, 'create'))
    union all
    select format('grant select, insert, update, delete on all tables in schema %I to %I', nspname, current_user)
      from pg_namespace n where nspname = ${schema} and exists (
        select from pg_class c where relnamespace = n.oid and relkind = 'r' and not (
          has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
          and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete')))
    union all
    select format('grant trigger on %s to %I', name, current_user)
      from json_array_elements_text(${JSON.stringify(tables)}::json) as given (name)
      where not has_table_privilege(to_regclass(name), 'trigger')`.execute(db)
  return rows.map(({ text }) => text)
}
