import Bowser from 'bowser'
import type { AuthKysely } from '../database/schema/kysely-tables.ts'
import type { SessionResponse } from '../protocol.ts'
import { readMethods } from '../session/authentication-methods.ts'
import { readDate } from '../session/read-date.ts'
import { toIso } from '../session/session-row.ts'

/** Lists the unexpired sessions of a user, newest first. */
export async function listSessionsOf(
  userId: string,
  options: { db: AuthKysely; now: Date; currentId: string; onlyId?: string },
): Promise<SessionResponse[]> {
  const { db, now, currentId, onlyId } = options
  let query = db
    .selectFrom('session')
    .select([
      'id',
      'createdAt',
      'lastSeenAt',
      'lastAuthenticatedAt',
      'expiresAt',
      'amr',
      'ipAddress',
      'userAgent',
    ])
    .where('userId', '=', userId)
    .where('expiresAt', '>', now)
    .orderBy('createdAt', 'desc')
    .orderBy('id')
  if (onlyId !== undefined) query = query.where('id', '=', onlyId)
  const rows = await query.execute()
  // As in Step 2, a session is expired if the date can't be read.
  const unexpired = rows.filter(({ expiresAt }) => readDate(expiresAt) > now)
  return unexpired.map((row) => ({
    id: row.id,
    createdAt: toIso(row.createdAt),
    lastSeenAt: toIso(row.lastSeenAt),
    lastAuthenticatedAt: toIso(row.lastAuthenticatedAt),
    expiresAt: toIso(row.expiresAt),
    amr: Object.keys(readMethods(row.amr)),
    address: row.ipAddress,
    device: describeDevice(row.userAgent),
    current: row.id === currentId,
  }))
}

/** Describes a `User-Agent`, which can be any text, as `Firefox on macOS` or `curl`; null if unknown. */
export function describeDevice(userAgent: string | null): string | null {
  if (userAgent === null || userAgent.trim() === '') return null
  const { browser, os, platform } = Bowser.parse(userAgent)
  const system = os.name ?? platform.model ?? platform.type
  if (browser.name && system) return `${browser.name} on ${system}`
  return browser.name || system || (userAgent.split(/[/\s]/)[0] ?? null)
}
