import { commit } from '../events/commit.ts'
import { positive } from '../positive.ts'
import type { SessionDatabase } from './session-database.ts'

/** Rows that were removed, by table. */
export type PruneReport = Readonly<Record<string, number>>

/** What {@link prune} takes. */
export interface PruneOptions {
  now: Date
  /** Further tables with a column `expiresAt`. @default [] */
  tables?: readonly string[]
  /** How long the records in `audit` are kept, in days; `Infinity` is for ever. @default 365 */
  auditDays?: number
  /** Rows in one transaction; other writers get their turn in between. @default 500 */
  batchSize?: number
  /** Called after each batch with the rows removed so far. */
  onProgress?: (report: PruneReport) => void
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Removes what has expired, in batches: sessions, counters of rate limits, old records in `audit`, and rows of the tables of
 * plugins. Expired sessions let nobody in before that either; this keeps the tables small.
 */
export async function prune(database: SessionDatabase, options: PruneOptions): Promise<PruneReport> {
  const { now, tables = [], auditDays = 365, onProgress } = options
  const batchSize = positive('batchSize', options.batchSize ?? 500)
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
  for (const table of tables)
    await inBatches(table, () => removeOld(database, { table, column: 'expiresAt', upTo: now, batchSize }))
  return report
}

/** Null where records are kept for ever. */
function auditLimit(auditDays: number, now: Date): Date | null {
  if (auditDays === Number.POSITIVE_INFINITY) return null
  return new Date(now.getTime() - positive('auditDays', auditDays, 36_500) * DAY_MS)
}

interface Batch {
  readonly now: Date
  readonly batchSize: number
}

function removeExpiredSessions(database: SessionDatabase, { now, batchSize }: Batch): Promise<number> {
  return commit(database, async (trx, record) => {
    const expired = trx.selectFrom('session').select('id').where('expiresAt', '<=', now).limit(batchSize)
    const removed = await trx
      .deleteFrom('session')
      .where('id', 'in', expired)
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

async function removeOld(
  { db }: SessionDatabase,
  { table, column, upTo, batchSize }: { table: string; column: string; upTo: Date; batchSize: number },
): Promise<number> {
  const tables = db.withTables<{ [name: string]: { id: string; [column: string]: Date | string } }>()
  const old = tables.selectFrom(table).select('id').where(column, '<=', upTo).limit(batchSize)
  const removed = await tables.deleteFrom(table).where('id', 'in', old).returning('id').execute()
  return removed.length
}
