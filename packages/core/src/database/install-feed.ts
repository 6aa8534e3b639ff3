import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { type Engine, namesOf, quote, type StoreMapping } from './mapping.ts'
import { createRateLimitTable } from './migrations.ts'
import { LOG_RETENTION_MS, revocationLogStatements } from './revocation-log.ts'
import type { AuthKysely } from './schema.ts'
import type { AuthTransaction } from './session-database.ts'

/** The key of the advisory lock under which nodes that start together create the triggers in turn. */
const INSTALLING = 7_255_597

/** How many triggers {@link revocationLogStatements} creates in PostgreSQL. */
const TRIGGERS = 6

/**
 * Creates the log, its triggers on another library's tables, and the table of the rate limits. In PostgreSQL,
 * skips triggers that are up to date: creating one waits for every open transaction of its table.
 */
export async function installFeed(db: AuthKysely, engine: Engine, mapping: StoreMapping): Promise<void> {
  const statements = revocationLogStatements(engine, mapping)
  const version = createHash('sha256').update(statements.join()).digest('hex')
  await db.transaction().execute(async (trx) => {
    if (engine === 'postgres' && (await isInstalled(trx, mapping, version))) return
    for (const statement of statements) await sql.raw(statement).execute(trx)
    if (engine === 'postgres')
      await sql.raw(`comment on function sallyport_log_revocation() is '${version}'`).execute(trx)
    await createRateLimitTable(trx.schema).execute()
  })
}

async function isInstalled(trx: AuthTransaction, mapping: StoreMapping, version: string): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(${INSTALLING})`.execute(trx)
  const { session, user } = namesOf('postgres', mapping)
  const { rows } = await sql<{ isInstalled: boolean | null }>`
    select count(*) = ${TRIGGERS} and bool_and(obj_description(tgfoid, 'pg_proc') = ${version}) as "isInstalled"
      from pg_trigger where tgname like 'sallyport\\_%' and tgenabled <> 'D'
        and tgrelid in (to_regclass(${quote(session.table)}), to_regclass(${quote(user.table)}))`.execute(trx)
  return rows[0]?.isInstalled === true
}

/** Deletes old entries and counters every hour until the returned function is called. */
export function pruneFeedHourly(db: AuthKysely): () => void {
  async function prune(): Promise<void> {
    const now = Date.now()
    const old = db.deleteFrom('revocation_log').where('at', '<=', new Date(now - LOG_RETENTION_MS))
    await old.execute()
    await db.deleteFrom('rateLimit').where('expire', '<=', now).execute()
  }
  const timer = setInterval(() => void prune().catch(() => {}), LOG_RETENTION_MS).unref()
  return () => clearInterval(timer)
}
