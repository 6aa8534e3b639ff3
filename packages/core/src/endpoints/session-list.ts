import Bowser from 'bowser'
import type { Selectable } from 'kysely'
import type { AuthKysely, SessionTable } from '../database/schema/kysely-tables.ts'
import type { SessionResponse } from '../protocol.ts'
import { readMethods } from '../session/authentication-methods.ts'
import { dayBefore, readDate } from '../session/read-date.ts'
import { toIso } from '../session/session-row.ts'

const COLUMNS = [
  'id',
  'createdAt',
  'lastSeenAt',
  'lastAuthenticatedAt',
  'expiresAt',
  'amr',
  'ipAddress',
  'userAgent',
] as const

type ListedSession = Pick<Selectable<SessionTable>, (typeof COLUMNS)[number]>

const MAX_SESSIONS = 1_000

/** More, because sessions that expired within a day are read too. */
const MAX_ROWS = 10_000

/** Parsing a `User-Agent` can take 0.3 ms. */
const SESSIONS_PER_TURN = 50

/** Lists the unexpired sessions of a user, newest first, and at most 1,000. */
export async function listSessionsOf(
  userId: string,
  options: { db: AuthKysely; now: Date; currentId: string; onlyId?: string },
): Promise<SessionResponse[]> {
  const { db, now, currentId, onlyId } = options
  let query = db
    .selectFrom('session')
    .select(COLUMNS)
    .where('userId', '=', userId)
    .where('expiresAt', '>', dayBefore(now))
    .orderBy('createdAt', 'desc')
    .orderBy('id')
    .limit(MAX_ROWS)
  if (onlyId !== undefined) query = query.where('id', '=', onlyId)
  const rows = await query.execute()
  // As in Step 2, a session is expired if the date can't be read.
  const unexpired = rows.filter(({ expiresAt }) => readDate(expiresAt) > now)
  const sessions: SessionResponse[] = []
  for (const row of unexpired.slice(0, MAX_SESSIONS)) {
    sessions.push(toResponse(row, currentId))
    if (sessions.length % SESSIONS_PER_TURN === 0) await new Promise((resolve) => setTimeout(resolve, 0))
  }
  return sessions
}

function toResponse(row: ListedSession, currentId: string): SessionResponse {
  return {
    id: row.id,
    createdAt: toIso(row.createdAt),
    lastSeenAt: toIso(row.lastSeenAt),
    lastAuthenticatedAt: toIso(row.lastAuthenticatedAt),
    expiresAt: toIso(row.expiresAt),
    amr: Object.keys(readMethods(row.amr)),
    address: row.ipAddress,
    device: describeDevice(row.userAgent),
    current: row.id === currentId,
  }
}

/** Describes a `User-Agent`, which can be any text, as `Firefox on macOS` or `curl`; null if unknown. */
export function describeDevice(userAgent: string | null): string | null {
  if (userAgent === null || userAgent.trim() === '') return null
  const { browser, os, platform } = Bowser.parse(userAgent)
  const system = os.name ?? platform.model ?? platform.type
  if (browser.name && system) return `${browser.name} on ${system}`
  return browser.name || system || userAgent.split(/[/\s]/)[0] || null
}
