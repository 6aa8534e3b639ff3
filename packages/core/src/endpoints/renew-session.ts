import type { AuthTransaction, RecordEvent } from '../database/auth-transaction.ts'
import type { VersionCause } from '../events/event.ts'
import type { NewSession } from '../lifecycle/create-session.ts'
import { findToken } from '../lifecycle/refresh-session.ts'
import { replaceCredentials } from '../lifecycle/replace-credentials.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { AuthError } from '../protocol/errors.ts'
import type { TokenResponse } from '../protocol.ts'
import { addressBuckets } from '../request/address.ts'
import { secretStatus } from '../session/secret-status.ts'
import type { AdmittedContext, EndpointContext, EndpointResult } from './endpoint.ts'
import { prepareTokens } from './issue-tokens.ts'

/** How often the credentials of one session may be replaced. */
const VERSION_CHANGES = { points: 10, duration: 15 * 60 }

/** How often one network may present superseded secrets of one session. */
const SUPERSEDED = { points: 30, duration: 60 }

/**
 * Rejects a caller who has a JWT but not the session's secret: new credentials would go to a copy.
 *
 * @throws EndpointError `SESSION_SECRET_REQUIRED`
 * @throws AuthError `SESSION_NOT_FOUND` if the session has just ended
 */
export async function requireSessionSecret(context: AdmittedContext): Promise<void> {
  const { userId, sessionId } = context.identity
  if (context.sessionCookie?.sessionId !== sessionId) throw reject('SESSION_SECRET_REQUIRED')
  const isCurrent = await hasSecretOf(userId, context)
  if (isCurrent === null) throw new AuthError('SESSION_NOT_FOUND')
  if (!isCurrent) throw reject('SESSION_SECRET_REQUIRED')
}

/**
 * Whether the session cookie holds the current secret of a session of this user; null if the session doesn't
 * exist.
 *
 * @throws AuthError `SESSIONS_UNAVAILABLE`
 */
export async function hasSecretOf(
  userId: string,
  { sessionCookie, database, config }: EndpointContext,
): Promise<boolean | null> {
  if (sessionCookie === null) return false
  const found = await findToken(sessionCookie.sessionId, database, config)
  if (found === null) return null
  if (found.userId !== userId) return false
  const status = await secretStatus(sessionCookie.secret, found, config.now())
  return status === 'current' || status === 'previous'
}

/** Counts a replacement of credentials. @throws AuthError `RATE_LIMITED` */
export function countVersionChange(sessionId: string, context: EndpointContext): Promise<void> {
  return context.limit(`version:${sessionId}`, VERSION_CHANGES)
}

/** Counts a request with a superseded secret. @throws AuthError `RATE_LIMITED` */
export async function countSuperseded(sessionId: string, context: EndpointContext): Promise<void> {
  for (const { name, limit } of addressBuckets(context.address, SUPERSEDED))
    await context.limit(`superseded:${sessionId}:${name}`, limit)
}

/**
 * Replaces the credentials of the caller's session and returns both new ones, as {@link TokenResponse} and in
 * cookies.
 *
 * @param options.work changes more in the same transaction
 * @throws EndpointError `SESSION_SECRET_REQUIRED`
 * @throws AuthError `RATE_LIMITED`
 */
export async function renewSession(
  context: AdmittedContext,
  {
    cause,
    work,
  }: { cause: VersionCause; work?: (trx: AuthTransaction, record: RecordEvent) => Promise<void> },
): Promise<Required<EndpointResult<TokenResponse>>> {
  const { identity, sessionCookie: cookie, config, change } = context
  const { userId, sessionId } = identity
  await requireSessionSecret(context)
  await countVersionChange(sessionId, context)
  // Anything that may fail comes first: the browser must get the new secret once the old one is replaced.
  const issue = await prepareTokens({ id: sessionId, userId }, context)
  const renewed = await change(async (trx, record): Promise<NewSession> => {
    await work?.(trx, record)
    const session = await replaceCredentials(trx, record, { userId, cookie, cause, now: config.now() })
    if (session === null) throw reject('SESSION_SECRET_REQUIRED')
    return session
  })
  return issue(renewed)
}
