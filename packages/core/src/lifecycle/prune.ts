import { pruningTime } from '../database/clock-skew.ts'
import { type AnyDatabase, toSessionDatabase } from '../database/database.ts'
import { LOG_RETENTION_MS } from '../database/schema/revocation-log.ts'
import type { SessionDatabase } from '../database/session-database.ts'
import { requirePositive } from '../protocol/settings.ts'
import { readDate } from '../session/read-date.ts'
import { commit } from './commit.ts'
import { lockFreeUsers } from './locked-sessions.ts'

/** How many rows were removed, by table. */
export type PruneReport = Readonly<Record<string, number>>

export interface PruneOptions {
  now: Date
  /** Further tables with columns `id` and `expiresAt`. @default [] */
  tables?: readonly string[]
  /** How long to keep records of the audit trail, in days; `Infinity` keeps them forever. @default 365 */
  auditDays?: number
  /** Rows per transaction, at most 10_000. Other writers run in between. @default 500 */
  batchSize?: number
  /** Called after each batch with the rows removed so far. */
  onProgress?: (report: PruneReport) => void
}

/** @throws ConfigurationError if it is neither a positive whole number nor `Infinity` */
export function requireAuditDays(days: number): number {
  return days === Number.POSITIVE_INFINITY ? days : requirePositive('auditDays', days, 36_500)
}

/** Databases limit the number of values in a statement. */
const MAX_PRUNE_BATCH = 10_000

const MIN_PAUSE_MS = 50
const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Removes expired rows in batches: sessions, rate limits, records of service calls, rows of the plugins'
 * tables, and old records in the audit trail and the revocation log. Expired sessions are invalid anyway.
 *
 * Skips rows that another transaction has locked. Waiting for them while holding others could deadlock with a
 * statement of the app.
 */
export async function prune(given: AnyDatabase, options: PruneOptions): Promise<PruneReport> {
  const database = toSessionDatabase(given)
  const { tables = [], onProgress } = options
  const auditDays = requireAuditDays(options.auditDays ?? 365)
  const batchSize = requirePositive('batchSize', options.batchSize ?? 500, MAX_PRUNE_BATCH)
  const now = await pruningTime(options.now, database.db, database.types.engine)
  const report: Record<string, number> = {}

  async function inBatches(table: string, removeBatch: () => Promise<number>): Promise<void> {
    report[table] = 0
    for (;;) {
      const startedAt = performance.now()
      const removed = await removeBatch()
      report[table] += removed
      onProgress?.({ ...report })
      // A smaller batch may only have skipped rows.
      if (removed === 0) return
      // Gives the event loop, and other processes that wait for the file, a turn.
      const pauseMs = Math.max(MIN_PAUSE_MS, performance.now() - startedAt)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  const anyTable = database.db.$extendTables<{
    [table: string]: { [column: string]: Date | string | number }
  }>()
  const remove = (
    table: string,
    { key = 'id', column, upTo }: { key?: string; column: string; upTo: Date | number },
  ) =>
    inBatches(table, async () => {
      // With the table: without it, Bun's SQLite reads the name of a missing column as text, and every row
      // matches.
      const [ofKey, ofColumn] = [`${table}.${key}`, `${table}.${column}`]
      const old = anyTable.selectFrom(table).select(ofKey).where(ofColumn, '<=', upTo).limit(batchSize)
      // A lock needs the right to update. In the audit trail, the role that prunes may lack it.
      const free = table === 'sallyport.audit' ? old : old.forUpdate().skipLocked()
      return (await anyTable.deleteFrom(table).where(ofKey, 'in', free).returning(ofKey).execute()).length
    })

  const busy = new Set<string>()
  await inBatches('session', () => removeExpiredSessions(database, { now, batchSize, busy }))
  if (auditDays !== Number.POSITIVE_INFINITY) {
    const keptMs = auditDays * DAY_MS
    await remove('sallyport.audit', { column: 'createdAt', upTo: new Date(now.getTime() - keptMs) })
  }
  await remove('sallyport.rate_limit', { key: 'key', column: 'expire', upTo: now.getTime() })
  const logUpTo = new Date(now.getTime() - LOG_RETENTION_MS)
  if (database.types.engine === 'postgres')
    await remove('sallyport.revocation_log', { key: 'seq', column: 'at', upTo: logUpTo })
  for (const table of ['sallyport.challenge', 'sallyport.service_token', 'sallyport.service_call', ...tables])
    await remove(table, { column: 'expiresAt', upTo: now })
  return report
}

interface SessionBatch {
  readonly now: Date
  readonly batchSize: number
  /** The users whom another transaction had locked. Their sessions may fill many batches. */
  readonly busy: Set<string>
}

async function removeExpiredSessions(database: SessionDatabase, batch: SessionBatch): Promise<number> {
  const { now, batchSize, busy } = batch
  const busyBefore = busy.size
  const count = await commit(database, async (trx, record) => {
    let query = trx.selectFrom('session').select(['id', 'userId', 'expiresAt']).where('expiresAt', '<=', now)
    if (busy.size > 0) query = query.where('userId', 'not in', [...busy])
    const found = await query.limit(batchSize).execute()
    // SQLite compares text, and a date that was written by hand may come before the present of the same day.
    const expired = found.filter(({ expiresAt }) => !(readDate(expiresAt) > now))
    if (expired.length === 0) return 0
    for (const userId of await lockFreeUsers(trx, [...new Set(expired.map(({ userId }) => userId))]))
      busy.add(userId)
    const ids = expired.filter(({ userId }) => !busy.has(userId)).map(({ id }) => id)
    if (ids.length === 0) return 0
    // Compares `expiresAt` again: a session may have been extended before the lock.
    const stale = trx.selectFrom('session').select('id').where('id', 'in', ids).where('expiresAt', '<=', now)
    const deleted = trx.deleteFrom('session').where('id', 'in', stale.forUpdate().skipLocked())
    const removed = await deleted.returning(['id', 'userId']).execute()
    for (const { id: sessionId, userId } of removed)
      record({ type: 'session.expired', at: now, userId, sessionId })
    return removed.length
  })
  return count === 0 && busy.size > busyBefore ? removeExpiredSessions(database, batch) : count
}
