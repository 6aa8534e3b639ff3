import { createHash } from 'node:crypto'
import { counterName, secondsUntil, windowEnd } from '../rate-limit/memory-limits.ts'
import type { RateLimit, RateLimitStore } from '../rate-limit/rate-limit.ts'
import type { Row } from '../session/session-row.ts'
import { missesInternalTable, restoreTables, type TableRestorer } from './restore-tables.ts'
import { type InternalNames, internalTable } from './schema/internal-tables.ts'
import type { AuthKysely } from './schema/kysely-tables.ts'

/** The largest integer of PostgreSQL's column. Higher limits are never reached. */
const MAX_POINTS = 2 ** 31 - 1

/** A counter that ends even later was written before a clock was set back, and has ended. */
const MAX_SKEW_MS = 60_000

/** How many full counters a process remembers. */
const MAX_FULL = 10_000

/**
 * Stores rate limits in the internal table `rate_limit`, for all processes that share the database.
 * @param run runs a statement with a `?` for each value, outside any transaction of another caller
 */
export function storedLimits(
  internal: InternalNames,
  run: (text: string, values: readonly unknown[]) => Promise<readonly Row[]>,
): Required<RateLimitStore> {
  const table = internalTable(internal, 'rate_limit')
  const isOpen = '(counter.expire > ? and counter.expire <= ?)'
  // One statement, so of any number at once, exactly the allowed ones are counted.
  const count = `
    insert into ${table} as counter (key, points, expire) values (?, 1, ?)
      on conflict (key) do update set
        points = case when ${isOpen} then counter.points + 1 else 1 end,
        expire = case when ${isOpen} then counter.expire else excluded.expire end
      where ${isOpen} is not true or counter.points < ?
      returning points, expire`
  const read = `select points, expire from ${table} where key = ? and expire > ? and expire <= ?`
  // Only an attempt of the current window can be given back.
  const subtract = `
    update ${table} set points = points - 1 where key = ? and points > 0 and expire > ? and expire <= ?`
  /** When the counters that reached their limits end: attempts are then rejected without writing. */
  const full = new Map<string, number>()

  /** Returns when the counter of a row ends if it has reached the limit, otherwise null. */
  function endOfFull(row: Row | undefined, name: string, points: number): number | null {
    if (row === undefined || Number(row.points) < points) return null
    if (full.size === MAX_FULL) full.clear()
    full.set(name, Number(row.expire))
    return Number(row.expire)
  }

  async function consume(key: string, limit: RateLimit): Promise<number | null> {
    const [name, now] = [counterName(storable(key), limit), Date.now()]
    const points = Math.min(Math.ceil(limit.points), MAX_POINTS)
    const latest = windowEnd(limit, now + MAX_SKEW_MS)
    const open = [now, latest]
    const fullUntil = full.get(name) ?? 0
    if (fullUntil <= now || fullUntil > latest) {
      const [counted] = await run(count, [name, windowEnd(limit, now), ...open, ...open, ...open, points])
      endOfFull(counted, name, points)
      if (counted !== undefined) return null
    }
    const [stored] = await run(read, [name, ...open])
    const end = endOfFull(stored, name, points)
    if (end !== null) return secondsUntil(end, now)
    // An attempt was given back, here or elsewhere.
    full.delete(name)
    return consume(key, limit)
  }

  return {
    consume,
    async giveBack(key, limit) {
      const now = Date.now()
      await run(subtract, [counterName(storable(key), limit), now, windowEnd(limit, now)])
    },
  }
}

/** The index of the table can't hold much longer keys. */
const MAX_KEY_LENGTH = 1_000

/** Hashes a key that a database can't store, so its attempts are limited too. */
function storable(key: string): string {
  const isStorable = key.length <= MAX_KEY_LENGTH && !key.includes('\0') && key.isWellFormed()
  return isStorable ? key : createHash('sha256').update(key).digest('hex')
}

/** Makes a store of rate limits create the tables that it misses, and try again. */
export function restoringLimits(
  limits: Required<RateLimitStore>,
  { restorer, db }: { restorer: TableRestorer; db: AuthKysely },
): Required<RateLimitStore> {
  async function restoring<Result>(work: () => Promise<Result>): Promise<Result> {
    return work().catch(async (error: unknown) => {
      if (!missesInternalTable(error, restorer.internal)) throw error
      await restoreTables(restorer, db)
      return work()
    })
  }

  return {
    consume: (key, limit) => restoring(() => limits.consume(key, limit)),
    giveBack: (key, limit) => restoring(() => limits.giveBack(key, limit)),
  }
}
