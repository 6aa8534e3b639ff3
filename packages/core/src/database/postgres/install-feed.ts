import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { quote, type StoreMapping } from '../mapping.ts'
import { createInternalTables, type MigrationDialect } from '../migrations.ts'
import { LOG_FUNCTION, logFunctionStatement, postgresTriggers } from '../postgres-triggers.ts'
import type { AuthKysely } from '../schema.ts'
import { sqlState } from './errors.ts'
import { type FeedState, missingGrants, readFeedState } from './feed-state.ts'

/** The key of the advisory lock under which nodes that start together create the triggers in turn. */
const INSTALLING = 7_255_597

/** Creating a trigger waits for every open transaction of its table, and new ones wait for it. */
const LOCK_TIMEOUT_MS = 500
const MAX_ATTEMPTS = 5

/** The SQLSTATEs of a missing right and of a lock that wasn't free in time. */
const PERMISSION_DENIED = '42501'
const LOCK_TIMEOUT = '55P03'

export interface FeedOptions {
  /** The names of another library's tables. */
  readonly mapping?: StoreMapping | undefined
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
  { mapping, mayLackRights = mapping !== undefined }: FeedOptions = {},
): Promise<FeedState> {
  const triggers = postgresTriggers(types, mapping)
  const statement = logFunctionStatement(types)
  const version = createHash('sha256').update(statement).digest('hex')
  const wanted = { schema: types.schema, triggers, version }
  const before = await readFeedState(db, wanted)
  if (before.isComplete) return before
  const fault = await install(db, { types, triggers, statement, version }).catch((error: unknown) => error)
  const after = await readFeedState(db, wanted)
  if (fault === undefined || after.isComplete) return after
  const problem = await explain(db, { fault, schema: types.schema, triggers })
  if (problem === null) throw fault
  if (!mayLackRights && stateOf(fault) === PERMISSION_DENIED)
    throw new ConfigurationError(problem, { cause: fault })
  console.warn(
    `sallyport: ${problem} Until then, streams of other nodes end within their lease of 5 seconds.`,
  )
  return after
}

interface Installation {
  readonly types: MigrationDialect
  readonly triggers: ReturnType<typeof postgresTriggers>
  readonly statement: string
  readonly version: string
}

async function install(db: AuthKysely, { types, triggers, statement, version }: Installation): Promise<void> {
  const { schema } = types
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${INSTALLING})`.execute(trx)
    const { rows } = await sql`select from pg_namespace where nspname = ${schema}`.execute(trx)
    // Even with `if not exists`, creating a schema needs a right that the role may lack.
    if (rows.length === 0) await trx.schema.createSchema(schema).execute()
    await createInternalTables(trx, types)
    const name = `${quote(`${schema}.${LOG_FUNCTION}`)}()`
    for (const text of [
      statement,
      `grant execute on function ${name} to public`,
      `comment on function ${name} is '${version}'`,
    ])
      await sql.raw(text).execute(trx)
  })
  for (const table of new Set(triggers.map(({ table }) => table))) {
    const statements = triggers.filter((trigger) => trigger.table === table)
    await retryLocks(() =>
      db.transaction().execute(async (trx) => {
        await sql`select pg_advisory_xact_lock(${INSTALLING})`.execute(trx)
        await sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`).execute(trx)
        for (const { statement } of statements) await sql.raw(statement).execute(trx)
      }),
    )
  }
}

async function retryLocks(attempt: () => Promise<void>): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      if (stateOf(error) !== LOCK_TIMEOUT || attempts === MAX_ATTEMPTS) throw error
    }
    await sleep(LOCK_TIMEOUT_MS)
  }
}

/** Returns the SQLSTATE of an error or of its cause. */
function stateOf(error: unknown): string | null {
  return sqlState(error) ?? (error instanceof Error ? sqlState(error.cause) : null)
}

interface Fault {
  readonly fault: unknown
  readonly schema: string
  readonly triggers: readonly { readonly table: string }[]
}

/** Returns what the operator must do, or null for another error. */
async function explain(db: AuthKysely, { fault, schema, triggers }: Fault): Promise<string | null> {
  switch (stateOf(fault)) {
    case LOCK_TIMEOUT:
      return 'A long transaction blocks the triggers on sessions and users. End it, and restart this process.'
    case PERMISSION_DENIED: {
      const grants = await missingGrants(db, {
        schema,
        tables: [...new Set(triggers.map(({ table }) => table))],
      })
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
  if (stateOf(error) !== PERMISSION_DENIED) return error
  const problem = await explain(db, { fault: error, schema, triggers: [] })
  return problem === null ? error : new ConfigurationError(problem, { cause: error })
}
