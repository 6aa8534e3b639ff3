import { toNullableDate } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction, RecordEvent } from '../database/session-database.ts'
import type { VersionCause } from '../events/event.ts'
import type { SessionCookie } from '../request/credentials.ts'
import { addMethods } from '../session/authentication-methods.ts'
import { readDate } from '../session/read-date.ts'
import { createCredentials, secretStatus } from '../session/secret.ts'
import type { NewSession } from './create-session.ts'
import { lockSession } from './locked-sessions.ts'

/** The causes that prove who the user is, and make the session fresh. */
const PROVES_USER: ReadonlySet<VersionCause> = new Set([
  'password-changed',
  'reauthenticated',
  'factor-added',
])

interface Replacement {
  readonly userId: string
  readonly cookie: SessionCookie | null
  readonly cause: VersionCause
  /** The methods by which the user has just proved who they are (RFC 8176). */
  readonly methods?: readonly string[] | undefined
  readonly now: Date
}

/**
 * Gives a session a new version and a new secret, without a grace period: older JWTs, cookies, sockets, and
 * streams stop working. Call it in the transaction that has locked the user.
 * @returns null, with nothing changed, unless the cookie holds a valid secret of an unexpired session of this
 * user: the current one, or the previous one within the grace period of a rotation
 */
export async function replaceCredentials(
  trx: AuthTransaction,
  record: RecordEvent,
  options: Replacement,
): Promise<NewSession | null> {
  const { userId, cookie, cause, methods = [], now } = options
  if (cookie === null) return null
  const { sessionId } = cookie
  const session = await lockSession(trx, { sessionId, userId })
  // Our JWTs aren't valid for a session of another issuer.
  if (session === undefined || session.issuer !== null) return null
  const expiresAt = readDate(session.expiresAt)
  if (!(expiresAt > now)) return null
  const rotatedAt = toNullableDate(session.rotatedAt)
  const status = await secretStatus(cookie.secret, { ...session, rotatedAt }, now)
  if (status !== 'current' && status !== 'previous') return null

  const version = session.version + 1
  const { secret, columns } = await createCredentials(version, session.tokenFamily ?? undefined)
  const amr = addMethods(session.amr, methods, now)
  const proof = PROVES_USER.has(cause) && { lastAuthenticatedAt: now, amr }
  const changes = { ...columns, updatedAt: now, ...proof }
  await trx.updateTable('session').set(changes).where('id', '=', sessionId).execute()
  record({ type: 'session.version-changed', at: now, userId, sessionId, version, cause })
  const remembered = Boolean(session.remembered)
  return { id: sessionId, userId, expiresAt, remembered, version, cookie: `${sessionId}.${secret}` }
}
