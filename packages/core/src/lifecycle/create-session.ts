import type { AuthConfig } from '../config.ts'
import type { AnyDatabase } from '../database/any-database.ts'
import type { AuthTransaction, RecordEvent } from '../database/auth-transaction.ts'
import { toNullableDate } from '../database/schema.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { AuthError, ConfigurationError } from '../protocol/errors.ts'
import type { SessionCookie } from '../request/credentials.ts'
import { expiryOf } from '../session/lifetime.ts'
import { createFamily, createSessionSecret, hashSecret } from '../session/secret.ts'
import { isBanned } from '../session/session.ts'
import { commit } from './commit.ts'
import { deleteSessionOf, deleteSessions } from './end-session.ts'

/** A session that has just begun, or has new credentials. The only moment its secret is known. */
export interface NewSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
  readonly remembered: boolean
  readonly version: number
  /** Value of the session cookie: `<sessionId>.<secret>`. */
  readonly cookie: string
}

/** What {@link createSession} takes. */
export interface NewSessionOptions {
  userId: string
  config: AuthConfig
  /** @default a random UUID */
  id?: string
  /**
   * The issuer in `trustedIssuers` whose tokens are valid for the session. Only its tokens are then.
   * @default null: our own
   */
  issuer?: string | null
  /** The address and `User-Agent` of the browser, for the list of sessions. @default null */
  address?: string | null
  userAgent?: string | null
  /** False for a session that ends with the browser, or after a day. @default true */
  rememberMe?: boolean
  /** Whether the account knew this browser, for the event `session.created`. @default null, not known */
  knownDevice?: boolean | null
  /** The session cookie that the browser had until now. Its session ends. @default null */
  replaces?: SessionCookie | null
  /** Checked in the transaction that begins the session; what it throws undoes that. */
  admit?: (trx: AuthTransaction) => Promise<void>
}

const FIRST_VERSION = 1

/** Longer ones are made up. */
export const MAX_USER_AGENT_LENGTH = 512

/**
 * Begins a session for a user who has just proved who they are, always with a new secret. Whatever session the same browser had ends
 * with it, and so may the oldest of a user who has as many as `maxSessionsPerUser`. Of one user's sign-ins one comes after the other.
 *
 * @throws EndpointError `USER_NOT_FOUND`, or `TOO_MANY_SESSIONS` where `whenFull` is `reject`
 * @throws AuthError `ACCOUNT_BANNED`
 * @throws ConfigurationError if `issuer` isn't one of `trustedIssuers`
 */
export async function createSession(database: AnyDatabase, options: NewSessionOptions): Promise<NewSession> {
  const { userId, config, rememberMe: remembered = true, replaces = null, address = null } = options
  const { knownDevice = null } = options
  const now = config.now()
  const userAgent = options.userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? null
  const { id = crypto.randomUUID(), issuer = null } = options
  if (issuer !== null && !config.issuers.slice(1).some((trusted) => trusted.issuer === issuer))
    throw new ConfigurationError(`createSession: declare ${issuer} in trustedIssuers first`)
  const tokenFamily = createFamily()
  const secret = await createSessionSecret(tokenFamily, FIRST_VERSION)
  const token = await hashSecret(secret)
  const expiresAt = expiryOf({ createdAt: now, remembered }, config.lifetimes, now)

  await commit(database, async (trx, record) => {
    await lockUser(trx, userId, now)
    await options.admit?.(trx)
    if (replaces !== null) await deleteSessionOf(replaces, { trx, record, cause: 'replaced', at: now })
    await makeRoom(trx, record, { userId, config, now })
    await trx
      .insertInto('session')
      .values({
        id,
        token,
        userId,
        ipAddress: address,
        userAgent,
        expiresAt,
        remembered,
        tokenFamily,
        version: FIRST_VERSION,
        provedVersion: FIRST_VERSION,
        issuer,
        previousToken: null,
        rotatedAt: null,
        lastAuthenticatedAt: now,
        lastSeenAt: now,
        createdAt: now,
        updatedAt: now,
      })
      .execute()
    record({ type: 'session.created', at: now, userId, sessionId: id, address, userAgent, knownDevice })
  })
  return { id, userId, expiresAt, remembered, version: FIRST_VERSION, cookie: `${id}.${secret}` }
}

/** Nobody is banned, and no other session of theirs begins, until this transaction is over. */
async function lockUser(trx: AuthTransaction, userId: string, now: Date): Promise<void> {
  const user = await trx
    .selectFrom('user')
    .select(['banned', 'banExpires'])
    .where('id', '=', userId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (user === undefined) throw reject('USER_NOT_FOUND')
  const ban = { banned: Boolean(user.banned), banExpires: toNullableDate(user.banExpires) }
  if (isBanned(ban, now)) throw new AuthError('ACCOUNT_BANNED')
}

/** Of the sessions that still count, all but the newest have to go so that one more is no more than allowed. */
async function makeRoom(
  trx: AuthTransaction,
  record: RecordEvent,
  { userId, config, now }: { userId: string; config: AuthConfig; now: Date },
): Promise<void> {
  const { maxSessionsPerUser, whenFull } = config
  if (maxSessionsPerUser === Number.POSITIVE_INFINITY) return
  const present = await trx
    .selectFrom('session')
    .select('id')
    .where('userId', '=', userId)
    .where('expiresAt', '>', now)
    .orderBy('createdAt', 'desc')
    .execute()
  const superfluous = present.slice(maxSessionsPerUser - 1)
  if (superfluous.length > 0 && whenFull === 'reject') throw reject('TOO_MANY_SESSIONS')
  for (const { id: sessionId } of superfluous) {
    await deleteSessions(trx, record, { sessionId, cause: 'evicted', actorId: null, at: now })
  }
}
