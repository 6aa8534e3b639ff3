import { type AnyDatabase, toSessionDatabase } from '../database/database.ts'
import { LOG_RETENTION_MS } from '../database/revocation-log.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { requirePositive } from '../protocol/settings.ts'
import { commit } from './commit.ts'
import { lockUsers } from './lock-user.ts'

/** Rows that were removed, by table. */
export type PruneReport = Readonly<Record<string, number>>

export interface PruneOptions {
  now: Date
  /** Further tables with a column `expiresAt`. @default [] */
  tables?: readonly string[]
  /** How long to keep the records in `audit`, in days; `Infinity` keeps them forever. @default 365 */
  auditDays?: number
  /** Rows per transaction, at most 10_000. Other writers run in between. @default 500 */
  batchSize?: number
  /** Called after each batch with the rows removed so far. */
  onProgress?: (report: PruneReport) => void
}

/** Databases limit the number of values in a statement. */
const MAX_BATCH_SIZE = 10_000

const MIN_PAUSE_MS = 50
const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Removes expired rows in batches: sessions, rate limits, records of service calls, rows of the plugins'
 * tables, and old records in `audit` and the revocation log. Only saves space: expired sessions are invalid
 * anyway.
 */
export async function prune(given: AnyDatabase, options: PruneOptions): Promise<PruneReport> {
  const database = toSessionDatabase(given)
  const { now, tables = [], auditDays = 365, onProgress } = options
  const batchSize = requirePositive('batchSize', options.batchSize ?? 500, MAX_BATCH_SIZE)
  const report: Record<string, number> = {}

  async function inBatches(table: string, removeBatch: () => Promise<number>): Promise<void> {
    report[table] = 0
    for (let removed = batchSize; removed === batchSize; ) {
      const startedAt = performance.now()
      removed = await removeBatch()
      report[table] += removed
      onProgress?.({ ...report })
      // Gives the event loop, and other processes that wait for the file, a turn.
      if (removed < batchSize) return
      const pauseMs = Math.max(MIN_PAUSE_MS, performance.now() - startedAt)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  const remove = (table: string, old: OldRows) =>
    inBatches(table, () => removeOld(database, table, { batchSize, ...old }))

  await inBatches('session', () => removeExpiredSessions(database, now, batchSize))
  if (auditDays !== Number.POSITIVE_INFINITY) {
    const keptMs = requirePositive('auditDays', auditDays, 36_500) * DAY_MS
    await remove('audit', { column: 'createdAt', upTo: new Date(now.getTime() - keptMs) })
  }
  await remove('rateLimit', { key: 'key', column: 'expire', upTo: now.getTime() })
  await remove('revocation_log', {
    key: 'seq',
    column: 'at',
    upTo: new Date(now.getTime() - LOG_RETENTION_MS),
  })
  for (const table of ['serviceToken', 'serviceCall', ...tables])
    await remove(table, { column: 'expiresAt', upTo: now })
  return report
}

function removeExpiredSessions(database: SessionDatabase, now: Date, batchSize: number): Promise<number> {
  return commit(database, async (trx, record) => {
    const expired = await trx
      .selectFrom('session')
      .select(['id', 'userId'])
      .where('expiresAt', '<=', now)
      .limit(batchSize)
      .execute()
    if (expired.length === 0) return 0
    await lockUsers(trx, [...new Set(expired.map(({ userId }) => userId))])
    const ids = expired.map(({ id }) => id)
    const removed = await trx
      .deleteFrom('session')
      .where('id', 'in', ids)
      // One may have been extended before the lock.
      .where('expiresAt', '<=', now)
      .returning(['id', 'userId'])
      .execute()
    for (const { id: sessionId, userId } of removed)
      record({ type: 'session.expired', at: now, userId, sessionId })
    return removed.length
  })
}

interface OldRows {
  /** @default 'id' */
  readonly key?: string
  readonly column: string
  readonly upTo: Date | number
}

async function removeOld(
  { db }: SessionDatabase,
  table: string,
  { key = 'id', column, upTo, batchSize }: OldRows & { batchSize: number },
): Promise<number> {
  const tables = db.withTables<{ [table: string]: { [column: string]: Date | string | number } }>()
  const old = tables.selectFrom(table).select(key).where(column, '<=', upTo).limit(batchSize)
  const removed = await tables.deleteFrom(table).where(key, 'in', old).returning(key).execute()
  return removed.length
}
