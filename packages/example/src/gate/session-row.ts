import { createHash } from 'node:crypto'
import type { AuthConfig, ProvedSession, SessionKey } from '@sallyport/core'
import type { Context } from '../context.ts'

/** A session and its user, for the page of the gate. */
export interface SessionRow {
  readonly id: string
  readonly expiresAt: string
  readonly lastSeenAt: string
  readonly device: string | null
  readonly email: string
  readonly banned: boolean
}

/** Finds the session of a session cookie by its secret, not only by its id. */
export async function findByCookie(
  cookie: string | null,
  { db, config }: { db: Context['db']; config: AuthConfig },
): Promise<ProvedSession | null> {
  const [sessionId = '', secret = ''] = cookie?.split('.') ?? []
  const token = `sha256:${createHash('sha256').update(secret).digest('hex')}`
  const row = await db
    .selectFrom('session')
    .select(['userId', 'version'])
    .where('id', '=', sessionId)
    .where('token', '=', token)
    .executeTakeFirst()
  return row === undefined ? null : { ...row, sessionId, issuer: config.issuer }
}

/** Reads a session, also if it isn't valid anymore. */
export async function readRow(
  { sessionId, userId }: SessionKey,
  db: Context['db'],
): Promise<SessionRow | null> {
  const row = await db
    .selectFrom('session')
    .innerJoin('user', 'user.id', 'session.userId')
    .select(['session.id', 'session.expiresAt', 'session.lastSeenAt', 'session.deviceName'])
    .select(['session.userAgent', 'user.email', 'user.banned'])
    .where('session.id', '=', sessionId)
    .where('session.userId', '=', userId)
    .executeTakeFirst()
  if (row === undefined) return null
  const { id, email, deviceName, userAgent } = row
  return {
    id,
    email,
    device: deviceName ?? userAgent,
    banned: Boolean(row.banned),
    expiresAt: new Date(row.expiresAt).toISOString(),
    lastSeenAt: new Date(row.lastSeenAt).toISOString(),
  }
}
