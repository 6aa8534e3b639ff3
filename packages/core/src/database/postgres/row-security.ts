import { ConfigurationError } from '../../protocol/errors.ts'
import { NO_COLUMNS } from '../../session/added-columns.ts'
import type { SessionLocks } from '../find-session-sql.ts'
import { foreignTables } from '../schema/foreign-tables.ts'
import { quote } from '../schema/mapping.ts'
import type { PostgresDriver } from './drivers/driver.ts'
import { PERMISSION_DENIED } from './install-faults.ts'

type Driver = Pick<PostgresDriver, 'query' | 'openLookups'>

/** @throws ConfigurationError if row-level security can hide rows of the tables from the role */
export async function checkRowSecurity(driver: Driver, tables: SessionLocks): Promise<void> {
  const problem = await findProblem(driver, tables)
  if (problem !== null) throw new ConfigurationError(problem)
}

/**
 * Call this when a row isn't found, since it may only be hidden.
 * @throws an error as PostgreSQL throws it with `row_security = off`
 */
export async function requireAllRows(driver: Driver, tables: SessionLocks): Promise<void> {
  const problem = await findProblem(driver, tables)
  if (problem !== null) throw Object.assign(new Error(problem), { code: PERMISSION_DENIED })
}

/**
 * Accepts a policy that shows and changes all rows, but not with a URL: there, lookups run with
 * `row_security = off`, which rejects every policy.
 */
async function findProblem(
  { query, openLookups }: Driver,
  { sql: { session, user }, columns = NO_COLUMNS }: SessionLocks,
): Promise<string | null> {
  const foreign = foreignTables(columns).map(({ table }) => quote(table))
  const values = [JSON.stringify([session.table, user.table, ...foreign]), openLookups === undefined]
  const { rows } = await query<{ table: string; role: string }>({ text: HIDDEN, values })
  const [found] = rows
  if (found === undefined) return null
  const { table, role } = found
  return `Row-level security can hide rows of the table ${table} from the role ${role}. Run "alter role ${role} bypassrls", connect as the owner of the table, or run "alter table ${table} disable row level security".`
}

/** The tables of which the role can't see all rows, or change all if it may change some. */
const HIDDEN = `
  select name as "table", quote_ident(current_user) as role
    from json_array_elements_text($1::json) as given (name), to_regclass(name) as relation
    where row_security_active(relation) and not ($2::boolean and (
      select bool_and(not is_used or is_open) from (values
        ('r', true),
        ('w', has_any_column_privilege(relation, 'update')),
        ('d', has_table_privilege(relation, 'delete'))) as used (command, is_used),
      lateral (
        select coalesce(bool_or(polpermissive and shows_all) and bool_and(polpermissive or shows_all), false) as is_open
          from pg_policy, lateral (select coalesce(pg_get_expr(polqual, polrelid) = 'true', false) as shows_all) as shown
          where polrelid = relation and polcmd::text in (command, '*')
            and exists (select from unnest(polroles) as role where role = 0 or pg_has_role(role, 'usage'))
      ) as policies))`
