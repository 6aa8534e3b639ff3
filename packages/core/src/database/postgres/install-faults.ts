import { sql } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { LOCK_TIMEOUT } from '../schema/change-tables.ts'
import type { AuthKysely } from '../schema/kysely-tables.ts'
import { quote } from '../schema/mapping.ts'
import { USER_TABLES } from '../schema/tables.ts'
import { stateOf } from '../sql-state.ts'

/** The SQLSTATEs of a missing right, and of a statement after Kysely's migrator has caught that error. */
export const PERMISSION_DENIED = '42501'
const TRANSACTION_ABORTED = '25P02'

interface Needed {
  /** The schema of our internal tables. */
  readonly schema: string
  /** The quoted names of the tables that need triggers. */
  readonly tables: readonly string[]
  /** The quoted names of our own tables, which are migrated. */
  readonly migrated?: readonly string[]
}

interface Fault extends Needed {
  readonly fault: unknown
}

/** Returns what the operator must do, or null for another error. */
export async function explain(db: AuthKysely, { fault, ...needed }: Fault): Promise<string | null> {
  const state = stateOf(fault)
  switch (state) {
    case LOCK_TIMEOUT:
      return 'A long transaction blocks the triggers on sessions and users. End it, and restart this process.'
    case PERMISSION_DENIED:
    case TRANSACTION_ABORTED: {
      const grants = await missingGrants(db, needed)
      if (state === TRANSACTION_ABORTED && grants.length === 0) return null
      const next =
        grants.length === 0 ? 'Start it once as the owner of the schema.' : `Run: ${grants.join('; ')};`
      const changes =
        needed.migrated === undefined ? 'create' : 'use, create, or change the tables of users, or'
      return `The role may not ${changes} the tables and triggers of the schema ${needed.schema}. ${next}`
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
  const migrated = Object.keys(USER_TABLES).map(quote)
  const problem = await explain(db, { fault: error, schema, tables: [], migrated })
  return problem === null ? error : new ConfigurationError(problem, { cause: error })
}

/**
 * Returns the statements that give the current role the rights to create and change what is needed. If it may
 * not even use what exists, returns only those for that: another role may have migrated our tables.
 */
async function missingGrants(db: AuthKysely, { schema, tables, migrated = [] }: Needed): Promise<string[]> {
  const { rows } = await sql<{ text: string; isUse: boolean }>`
    select format('grant create on database %I to %I', current_database(), current_user) as text, false as "isUse"
      where not has_database_privilege(current_database(), 'create')
        and not exists (select from pg_namespace where nspname = ${schema})
    union all
    select format('grant %s on schema %I to %I', privilege, nspname, current_user), privilege = 'usage'
      from pg_namespace, unnest(array['usage', 'create']) as privilege
      where nspname = ${schema} and not has_schema_privilege(oid, privilege)
    union all
    select format('grant select, insert, update, delete on all tables in schema %I to %I', nspname, current_user), true
      from pg_namespace n where nspname = ${schema} and exists (
        select from pg_class c where relnamespace = n.oid and relkind = 'r' and not (
          has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
          and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete')))
    union all
    select format('grant create on schema %I to %I', current_schema(), current_user), false
      where ${migrated.length > 0} and not has_schema_privilege(current_schema(), 'create')
    union all
    select format('alter table %s owner to %I', name, current_user), false
      from json_array_elements_text(${JSON.stringify(migrated)}::json) as given (name)
      join pg_class c on c.oid = to_regclass(name) and not pg_has_role(c.relowner, 'usage')
    union all
    select format('grant trigger on %s to %I', name, current_user), false
      from json_array_elements_text(${JSON.stringify(tables)}::json) as given (name)
      where not has_table_privilege(to_regclass(name), 'trigger')`.execute(db)
  const uses = rows.filter(({ isUse }) => isUse)
  return (migrated.length > 0 && uses.length > 0 ? uses : rows).map(({ text }) => text)
}
