import { createHash } from 'node:crypto'
import { Kysely, sql } from 'kysely'
import type { Pool } from 'pg'
import { LOG_KEPT_MS, revocationLogStatements } from '../revocations/revocation-log.ts'
import { namesOf, quote, type StoreMapping } from './mapping.ts'
import { postgresDialect } from './postgres-dialect.ts'
import type { AuthTables } from './schema.ts'

/** The number of an advisory lock: of several nodes that start at once, one after the other makes the triggers. */
const INSTALLING = 7_255_597

/** The triggers that {@link revocationLogStatements} makes. */
const TRIGGERS = 6

/**
 * Makes the log, its triggers on the tables of another library, and the table of the rate limits. Only where they are not there as they
 * should be: a trigger waits for every transaction on its table, and every other one waits behind it.
 */
export async function installFeed(pool: Pool, mapping: StoreMapping): Promise<void> {
  const statements = revocationLogStatements('postgres', mapping)
  const version = createHash('sha256').update(statements.join()).digest('hex')
  const kysely = new Kysely<AuthTables>({ dialect: postgresDialect(pool) })
  await kysely.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${INSTALLING})`.execute(trx)
    const { session, user } = namesOf('postgres', mapping)
    const { rows } = await sql<{ isInstalled: boolean | null }>`
      select count(*) = ${TRIGGERS} and bool_and(obj_description(tgfoid, 'pg_proc') = ${version}) as "isInstalled"
        from pg_trigger where tgname like 'sallyport\\_%' and tgenabled <> 'D'
          and tgrelid in (to_regclass(${quote(session.table)}), to_regclass(${quote(user.table)}))`.execute(
      trx,
    )
    if (rows[0]?.isInstalled === true) return
    for (const statement of statements) await sql.raw(statement).execute(trx)
    await sql.raw(`comment on function sallyport_log_revocation() is '${version}'`).execute(trx)
    await trx.schema
      .createTable('rateLimit')
      .ifNotExists()
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('points', 'integer', (column) => column.notNull())
      .addColumn('expire', 'bigint')
      .execute()
  })
}

/** Removes what is of no use any more. What fails is made up for by the next time. */
export async function pruneFeed(pool: Pool): Promise<void> {
  const log = `delete from revocation_log where at <= now() - $1 * interval '1 millisecond'`
  await pool.query(log, [LOG_KEPT_MS]).catch(() => {})
  await pool.query('delete from "rateLimit" where expire <= $1', [Date.now()]).catch(() => {})
}
