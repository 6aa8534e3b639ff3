import { sql } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import { stateOf } from '../sql-state.ts'
import type { AuthKysely } from './kysely-tables.ts'
import type { Engine } from './mapping.ts'

const LOCK_TIMEOUT_MS = 500
const DEFAULT_ATTEMPTS = 5
const MAX_ATTEMPTS = 60

/** The SQLSTATE of a lock that wasn't free in time. */
export const LOCK_TIMEOUT = '55P03'
const DEADLOCK = '40P01'

export interface LockSettings {
  /** How often a change of tables is attempted while other transactions hold them. @default 5 */
  readonly lockAttempts?: number
}

/** Returns the settings for changes that wait about as long as a statement may take, up to a minute. */
export function lockSettings(statementTimeoutMs: number | undefined): LockSettings {
  if (statementTimeoutMs === undefined) return {}
  return { lockAttempts: Math.min(Math.ceil(statementTimeoutMs / (2 * LOCK_TIMEOUT_MS)), MAX_ATTEMPTS) }
}

interface TableChange<Result> {
  /** The key of the advisory lock under which processes make this change. */
  readonly key: number
  readonly change: (trx: AuthKysely) => Promise<Result>
}

/**
 * Changes tables in a transaction. In PostgreSQL, a change waits for the open transactions of a table, and
 * lookups wait for the change. So it waits only briefly, lets them run, and tries again.
 * @throws ConfigurationError if another transaction still holds a table after the last attempt
 */
export async function changeTables<Result>(
  db: AuthKysely,
  { engine, lockAttempts = DEFAULT_ATTEMPTS }: { readonly engine: Engine } & LockSettings,
  { key, change }: TableChange<Result>,
): Promise<Result> {
  // In SQLite, a transaction locks the whole file.
  if (engine === 'sqlite') return db.transaction().execute(change)
  for (let attempts = 1; ; attempts++) {
    try {
      return await db.transaction().execute(async (trx) => {
        const lockTimeoutMs = await readLockTimeout(trx)
        // Other processes may hold the advisory lock for longer.
        await sql`set local lock_timeout = 0`.execute(trx)
        await sql`select pg_advisory_xact_lock(${key})`.execute(trx)
        // No longer than statements of the app, which wait for the change.
        await sql.raw(`set local lock_timeout = ${Math.min(lockTimeoutMs, LOCK_TIMEOUT_MS)}`).execute(trx)
        return change(trx)
      })
    } catch (error) {
      const state = stateOf(error)
      if (state !== LOCK_TIMEOUT && state !== DEADLOCK) throw error
      if (attempts >= lockAttempts) throw new ConfigurationError(HELD, { cause: error })
    }
    await new Promise((resolve) => setTimeout(resolve, LOCK_TIMEOUT_MS))
  }
}

/** Returns the default of the role, usually `Infinity`. */
async function readLockTimeout(db: AuthKysely): Promise<number> {
  const setting = sql<{ ms: number }>`select setting::int4 as ms from pg_settings where name = 'lock_timeout'`
  const { rows } = await setting.execute(db)
  return rows[0]?.ms || Number.POSITIVE_INFINITY
}

const HELD =
  'Another transaction holds a table that must change. Find it with "select pid, state, query from pg_stat_activity order by xact_start", end it, and try again.'
