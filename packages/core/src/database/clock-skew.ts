import { sql } from 'kysely'
import type { AuthKysely } from './schema/kysely-tables.ts'
import type { Engine } from './schema/mapping.ts'

/** If the difference is larger, the clock is wrong. */
export const MAX_SKEW_MS = 30_000

/** Returns how far the clock of this process is ahead of the database's, in ms; negative if it is behind. */
export async function readClockSkew(db: AuthKysely, engine: Engine): Promise<number> {
  const milliseconds =
    engine === 'sqlite'
      ? sql<number>`(julianday('now') - 2440587.5) * 86400000`
      : sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`
  const { rows } = await sql<{ now: number }>`select ${milliseconds} as now`.execute(db)
  // Not the clock of the configuration, which is for tests.
  return Math.round(Date.now() - Number(rows[0]?.now))
}

/**
 * Returns the time to prune by: `now`, corrected if the clock of this process is ahead of the database's.
 * Otherwise, a node with a wrong clock would delete rows that are still valid.
 */
export async function pruningTime(now: Date, db: AuthKysely, engine: Engine): Promise<Date> {
  const skewMs = await readClockSkew(db, engine)
  return skewMs > MAX_SKEW_MS ? new Date(now.getTime() - skewMs) : now
}
