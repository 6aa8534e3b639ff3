import { type AuthKysely, toDate } from '../database/schema.ts'
import type { SessionResponse } from '../protocol.ts'
import { decodeColumns, type SessionColumns } from './declared-columns.ts'
import { describeDevice } from './device.ts'

interface ListOptions {
  db: AuthKysely
  now: Date
  /** The session that the response marks as `current`. */
  currentId: string
  /** Lists this session alone. */
  onlyId?: string
  /** Added columns to include. */
  columns?: SessionColumns
}

/** Lists the unexpired sessions of a user, newest first. */
export async function listSessionsOf(
  userId: string,
  { db, now, currentId, onlyId, columns = {} }: ListOptions,
): Promise<SessionResponse[]> {
  let query = db
    .selectFrom('session')
    .select(['id', 'createdAt', 'lastSeenAt', 'lastAuthenticatedAt', 'expiresAt', 'ipAddress', 'userAgent'])
    .select(Object.keys(columns).map((name) => db.dynamic.ref<never>(name)))
    .where('userId', '=', userId)
    .where('expiresAt', '>', now)
    .orderBy('createdAt', 'desc')
    .orderBy('id')
  if (onlyId !== undefined) query = query.where('id', '=', onlyId)
  const rows = await query.execute()
  return rows.map((row) => ({
    ...decodeColumns({ ...row }, columns),
    id: row.id,
    createdAt: toDate(row.createdAt).toISOString(),
    lastSeenAt: toDate(row.lastSeenAt).toISOString(),
    lastAuthenticatedAt: toDate(row.lastAuthenticatedAt).toISOString(),
    expiresAt: toDate(row.expiresAt).toISOString(),
    address: row.ipAddress,
    device: describeDevice(row.userAgent),
    current: row.id === currentId,
  }))
}
