import { sql } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { LOCK_TIMEOUT } from '../schema/change-tables.ts'
import type { AuthKysely } from '../schema/kysely-tables.ts'
import { sqlState } from './drivers/errors.ts'

/** The SQLSTATEs of a missing right, and of a statement after Kysely's migrator has caught that error. */
export const PERMISSION_DENIED = '42501'
const TRANSACTION_ABORTED = '25P02'

interface Fault {
  readonly fault: unknown
  readonly schema: string
  /** Their quoted names. */
  readonly tables: readonly string[]
}

/** Returns what the operator must do, or null for another error. */
export async function explain(db: AuthKysely, { fault, schema, tables }: Fault): Promise<string | null> {
  const state = stateOf(fault)
  switch (state) {
    case LOCK_TIMEOUT:
      return 'A long transaction blocks the triggers on sessions and users. End it, and restart this process.'
    case PERMISSION_DENIED:
    case TRANSACTION_ABORTED: {
      const grants = await missingGrants(db, { schema, tables })
      if (state === TRANSACTION_ABORTED && grants.length === 0) return null
      const next =
        grants.length === 0 ? 'Start it once as the owner of the schema.' : `Run: ${grants.join('; ')};`
      return `The role may not create the tables and triggers of the schema ${schema}. ${next}`
    }
    default:
      return null
  }
}

/** Turns a missing right into an error that names the grants. Other errors stay as they are. */
export async function toGrantError(
  db: AuthKysely,
  { error, schema }: { error: unknown; schema: string },
): Promise<unknown> {
  const state = stateOf(error)
  if (state !== PERMISSION_DENIED && state !== TRANSACTION_ABORTED) return error
  const problem = await explain(db, { fault: error, schema, tables: [] })
  return problem === null ? error : new ConfigurationError(problem, { cause: error })
}

/** Returns the SQLSTATE of an error or of its causes. */
export function stateOf(error: unknown): string | null {
  return sqlState(error) ?? (error instanceof Error ? stateOf(error.cause) : null)
}

/** Returns the statements that give the current role the rights to create the schema and the triggers. */
async function missingGrants(
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
