import type { AuthTransaction, RecordEvent } from '../database/session-database.ts'
import type { RevocationCause, VersionCause } from '../events/event.ts'
import { deleteSessions } from '../lifecycle/end-session.ts'
import { prepareTokens, type TokenResult } from '../lifecycle/prepare-tokens.ts'
import { findToken } from '../lifecycle/refresh-session.ts'
import { replaceCredentials } from '../lifecycle/replace-credentials.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { AuthError } from '../protocol/errors.ts'
import { secretStatus } from '../session/secret.ts'
import type { SessionToken } from '../session/session.ts'
import type { AuthorizedContext, EndpointContext } from './endpoint.ts'

const VERSION_CHANGES = { points: 10, duration: 15 * 60 }

/**
 * Rejects a caller who has a JWT but not the session's secret: a copy could get the new credentials.
 * @throws EndpointError `SESSION_SECRET_REQUIRED`, or AuthError `SESSION_NOT_FOUND`
 */
export async function requireSessionSecret(context: AuthorizedContext): Promise<void> {
  const { userId, sessionId } = context.identity
  if (context.sessionCookie?.sessionId !== sessionId) throw reject('SESSION_SECRET_REQUIRED')
  const session = await sessionOfSecret(userId, context)
  if (session === null) throw new AuthError('SESSION_NOT_FOUND')
  if (!session) throw reject('SESSION_SECRET_REQUIRED')
}

/**
 * Returns the session of this user for which the cookie's secret is valid, also if it has expired; false for
 * another secret or user; null if the session is gone.
 */
export async function sessionOfSecret(
  userId: string,
  { sessionCookie, database, config }: EndpointContext,
): Promise<SessionToken | false | null> {
  if (sessionCookie === null) return false
  const found = await findToken(sessionCookie.sessionId, database, config)
  if (found === null) return null
  if (found.userId !== userId) return false
  const status = await secretStatus(sessionCookie.secret, found, config.now())
  return (status === 'current' || status === 'previous') && found
}

/** Limits how often a session's credentials are replaced. @throws AuthError `RATE_LIMITED` */
export function countVersionChange(sessionId: string, context: EndpointContext): Promise<void> {
  return context.limit(`version:${sessionId}`, VERSION_CHANGES)
}

/** Replaces the credentials of the caller's session, in one transaction with `work`, and returns them. */
export async function renewSession(
  context: AuthorizedContext,
  options: {
    cause: VersionCause
    /** The methods by which the user has just proved who they are (RFC 8176). */
    methods?: readonly string[]
    /** Ends the user's other sessions, for this cause. */
    revokeOthers?: RevocationCause | false
    work?: (trx: AuthTransaction, record: RecordEvent) => Promise<void>
  },
): Promise<TokenResult> {
  const { identity, sessionCookie: cookie, config, change } = context
  const { userId, sessionId } = identity
  await requireSessionSecret(context)
  await countVersionChange(sessionId, context)
  const issue = await prepareTokens({ id: sessionId, userId }, context)
  const renewed = await change(async (trx, record) => {
    const { cause, methods, revokeOthers = false, work } = options
    const now = config.now()
    const others = { userId, exceptId: sessionId, at: now }
    if (revokeOthers) await deleteSessions(trx, record, { ...others, cause: revokeOthers })
    await work?.(trx, record)
    const replacement = { userId, cookie, cause, methods, now }
    const session = await replaceCredentials(trx, record, replacement)
    if (session === null) throw reject('SESSION_SECRET_REQUIRED')
    return session
  })
  return issue(renewed)
}
