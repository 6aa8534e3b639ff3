import { type AuthKysely, toDate } from '../database/schema.ts'
import type { SessionResponse } from '../protocol.ts'
import { decodeColumns, type SessionColumns } from './declared-columns.ts'
import { describeDevice } from './device.ts'

/** The sessions of a user that still count, the newest first; or the one of them that is asked for. */
export async function listSessionsOf(
  userId: string,
  {
    db,
    now,
    currentId,
    onlyId,
    columns = {},
  }: { db: AuthKysely; now: Date; currentId: string; onlyId?: string; columns?: SessionColumns },
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
  return rows.map(({ id, ipAddress, userAgent, ...moments }) => ({
    ...decodeColumns(moments, columns),
    id,
    createdAt: toDate(moments.createdAt).toISOString(),
    lastSeenAt: toDate(moments.lastSeenAt).toISOString(),
    lastAuthenticatedAt: toDate(moments.lastAuthenticatedAt).toISOString(),
    expiresAt: toDate(moments.expiresAt).toISOString(),
    address: ipAddress,
    device: describeDevice(userAgent),
    current: id === currentId,
  }))
}
