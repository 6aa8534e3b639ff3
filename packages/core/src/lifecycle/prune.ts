import { type AnyDatabase, toSessionDatabase } from '../database/any-database.ts'
import { LOG_KEPT_MS } from '../database/revocation-log.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { requirePositive } from '../protocol/settings.ts'
import { commit } from './commit.ts'
import { lockUsers } from './lock-user.ts'

/** Rows that were removed, by table. */
export type PruneReport = Readonly<Record<string, number>>

/** What {@link prune} takes. */
export interface PruneOptions {
  now: Date
  /** Further tables with a column `expiresAt`. @default [] */
  tables?: readonly string[]
  /** How long the records in `audit` are kept, in days; `Infinity` is for ever. @default 365 */
  auditDays?: number
  /** Rows in one transaction, at most 10_000; other writers get their turn in between. @default 500 */
  batchSize?: number
  /** Called after each batch with the rows removed so far. */
  onProgress?: (report: PruneReport) => void
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** A statement takes only so many values. */
const MOST_AT_ONCE = 10_000

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Removes what has expired, in batches: sessions, counters of rate limits, old records in `audit` and of
 * revocations, what was remembered of service calls, and rows of the tables of plugins. Expired sessions let nobody in before that
 * either; this keeps the tables small.
 */
export async function prune(given: AnyDatabase, options: PruneOptions): Promise<PruneReport> {
  const database = toSessionDatabase(given)
  const { now, tables = [], auditDays = 365, onProgress } = options
  const batchSize = requirePositive('batchSize', options.batchSize ?? 500, MOST_AT_ONCE)
  const report: Record<string, number> = {}

  async function inBatches(table: string, removeBatch: () => Promise<number>): Promise<void> {
    report[table] = 0
    for (let removed = batchSize; removed === batchSize; ) {
      const startedAt = performance.now()
      removed = await removeBatch()
      report[table] += removed
      onProgress?.({ ...report })
      // Without a pause neither the event loop nor another process that waits for the file would get a turn.
      if (removed === batchSize) await sleep(Math.max(50, performance.now() - startedAt))
    }
  }

  await inBatches('session', () => removeExpiredSessions(database, { now, batchSize }))
  const keptSince = auditLimit(auditDays, now)
  if (keptSince !== null) {
    const old = { table: 'audit', column: 'createdAt', upTo: keptSince, batchSize }
    await inBatches('audit', () => removeOld(database, old))
  }
  await inBatches('rateLimit', () => removeCounters(database, { now, batchSize }))
  const upTo = new Date(now.getTime() - LOG_KEPT_MS)
  await inBatches('revocation_log', () => removeLog(database, { upTo, batchSize }))
  for (const table of ['serviceToken', 'serviceCall', ...tables])
    await inBatches(table, () => removeOld(database, { table, column: 'expiresAt', upTo: now, batchSize }))
  return report
}

/** Null where records are kept for ever. */
function auditLimit(auditDays: number, now: Date): Date | null {
  if (auditDays === Number.POSITIVE_INFINITY) return null
  return new Date(now.getTime() - requirePositive('auditDays', auditDays, 36_500) * DAY_MS)
}

interface Batch {
  readonly now: Date
  readonly batchSize: number
}

function removeExpiredSessions(database: SessionDatabase, { now, batchSize }: Batch): Promise<number> {
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
      // One of them may have been extended before the lock.
      .where('expiresAt', '<=', now)
      .returning(['id', 'userId'])
      .execute()
    for (const { id: sessionId, userId } of removed)
      record({ type: 'session.expired', at: now, userId, sessionId })
    return removed.length
  })
}

async function removeCounters({ db }: SessionDatabase, { now, batchSize }: Batch): Promise<number> {
  const expired = db
    .selectFrom('rateLimit')
    .select('key')
    .where('expire', '<=', now.getTime())
    .limit(batchSize)
  const removed = await db.deleteFrom('rateLimit').where('key', 'in', expired).returning('key').execute()
  return removed.length
}

async function removeLog(
  { db }: SessionDatabase,
  { upTo, batchSize }: { upTo: Date; batchSize: number },
): Promise<number> {
  const old = db.selectFrom('revocation_log').select('seq').where('at', '<=', upTo).limit(batchSize)
  const removed = await db.deleteFrom('revocation_log').where('seq', 'in', old).returning('seq').execute()
  return removed.length
}

async function removeOld(
  { db }: SessionDatabase,
  { table, column, upTo, batchSize }: { table: string; column: string; upTo: Date; batchSize: number },
): Promise<number> {
  const tables = db.withTables<{ [name: string]: { id: string; [column: string]: Date | string } }>()
  const old = tables.selectFrom(table).select('id').where(column, '<=', upTo).limit(batchSize)
  const removed = await tables.deleteFrom(table).where('id', 'in', old).returning('id').execute()
  return removed.length
}
