import { sql } from 'kysely'
import type { Opening } from '../database/schema/inspect-opened.ts'
import { INTERNAL_SCHEMA } from '../database/schema/internal-tables.ts'
import { ConfigurationError } from '../protocol/errors.ts'

/**
 * Checks the schema that a command names before it is created: sessions would get more triggers, whose log no
 * node prunes.
 * @throws ConfigurationError if the app has another schema
 */
export async function requireSchema({ db }: Opening, schema: string = INTERNAL_SCHEMA): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select distinct n.nspname as name from pg_trigger t
      join pg_proc p on p.oid = t.tgfoid join pg_namespace n on n.oid = p.pronamespace
      where t.tgrelid = to_regclass('session') and p.proname like 'log\\_revocation\\_%'`.execute(db)
  const [first] = rows
  if (first === undefined || rows.some(({ name }) => name === schema)) return
  throw new ConfigurationError(
    `The internal tables are in the schema ${first.name}, not in ${schema}. Pass --schema ${first.name}.`,
  )
}
