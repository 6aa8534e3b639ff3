import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { changeTables } from '../schema/change-tables.ts'
import type { AuthKysely } from '../schema/kysely-tables.ts'
import { quote } from '../schema/mapping.ts'
import { CREATING, createInternalTables, type MigrationDialect } from '../schema/migrations.ts'
import { postgresTriggers, type TableTriggers, type WatchedColumns } from '../schema/postgres-triggers.ts'
import { stateOf } from '../sql-state.ts'
import { type FeedState, findTables, type NamedTriggers, readFeedState } from './feed-state.ts'
import { explain, PERMISSION_DENIED } from './install-faults.ts'

export interface FeedOptions extends WatchedColumns {
  /** If true, a missing right is a warning. @default with a mapping */
  readonly mayLackRights?: boolean
}

/**
 * Creates the internal tables and the triggers that are missing or outdated, on our own tables or another
 * library's. Changes nothing else, so a start doesn't wait for open transactions.
 *
 * If the role may lack the rights, as in another library's database, it prints a warning with the grants.
 * Without triggers, streams end when their lease does.
 * @throws ConfigurationError that names the grants, if the role may not lack rights
 */
export async function installFeed(
  db: AuthKysely,
  types: MigrationDialect,
  { mapping, columns, mayLackRights = mapping !== undefined }: FeedOptions = {},
): Promise<FeedState> {
  const wantedTables = postgresTriggers(types, { mapping, columns }).map(({ table }) => quote(table))
  const { tables, byRow, views } = await findTables(db, wantedTables)
  const all = postgresTriggers(types, { mapping, columns, byRow }).map(named)
  if (views.length > 0)
    console.warn(
      `sallyport: views can't report changes: ${views.join(', ')}. After a change, streams end within their lease of 5 seconds.`,
    )
  // A plugin may create its table later.
  const watched = all.filter(({ table }) => tables.includes(quote(table)))
  const wanted = { schema: types.schema, watched }
  const before = await readFeedState(db, wanted)
  if (before.isComplete) return before
  const fault = await install(db, types, watched).catch((error: unknown) => error)
  const after = await readFeedState(db, wanted)
  if (fault === undefined || after.isComplete) return after
  const problem = await explain(db, { fault, schema: types.schema, tables })
  if (problem === null) throw fault
  if (!mayLackRights && stateOf(fault) === PERMISSION_DENIED)
    throw new ConfigurationError(problem, { cause: fault })
  console.warn(
    `sallyport: ${problem} Until then, streams of other nodes end within their lease of 5 seconds.`,
  )
  return after
}

/** Names the function by its hash: other versions and other mappings of this schema have others. */
function named(triggers: TableTriggers): NamedTriggers {
  const hash = createHash('sha256').update(triggers.functionBody).digest('hex')
  return { ...triggers, logFunction: `log_revocation_${hash.slice(0, 16)}` }
}

async function install(
  db: AuthKysely,
  types: MigrationDialect,
  watched: readonly NamedTriggers[],
): Promise<void> {
  const { schema } = types
  const create = async (trx: AuthKysely) => {
    // Some clients print the notices of `if not exists`.
    await sql`set local client_min_messages = warning`.execute(trx)
    const { rows } = await sql`select from pg_namespace where nspname = ${schema}`.execute(trx)
    // Even with `if not exists`, creating a schema needs a right that the role may lack.
    if (rows.length === 0) await trx.schema.createSchema(schema).execute()
    await createInternalTables(trx, types)
    for (const { logFunction, functionBody } of watched) {
      const name = sql.id(schema, logFunction)
      await sql`create or replace function ${name}() ${sql.raw(functionBody)}`.execute(trx)
      await sql`grant execute on function ${name}() to public`.execute(trx)
    }
  }
  await changeTables(db, types, { key: CREATING, change: create })
  for (const { logFunction, triggers } of watched) {
    const change = async (trx: AuthKysely) => {
      for (const { name, event } of triggers)
        await sql`create or replace trigger ${sql.id(name)} ${sql.raw(event)}
          execute function ${sql.id(schema, logFunction)}()`.execute(trx)
    }
    await changeTables(db, types, { key: CREATING, change })
  }
}
