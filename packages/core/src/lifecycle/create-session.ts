import type { AuthConfig } from '../config.ts'
import type { AnyDatabase } from '../database/database.ts'
import { toNullableDate } from '../database/schema/kysely-tables.ts'
import type { AuthTransaction, RecordEvent } from '../database/session-database.ts'
import type { EventRequest } from '../events/event.ts'
import { reject } from '../protocol/endpoint-error.ts'
import { AuthError, ConfigurationError } from '../protocol/errors.ts'
import type { SessionCookie } from '../request/credentials.ts'
import { addMethods } from '../session/authentication-methods.ts'
import { expiryOf } from '../session/lifetime.ts'
import { dayBefore, readDate } from '../session/read-date.ts'
import { createCredentials } from '../session/secret.ts'
import { isBanned } from '../session/session.ts'
import { commit } from './commit.ts'
import { deleteSessionOf, deleteSessions } from './end-session.ts'
import { lockUser } from './locked-sessions.ts'

/** A session that has just begun, or has new credentials. The database stores only a hash of the secret. */
export interface NewSession {
  readonly id: string
  readonly userId: string
  readonly expiresAt: Date
  /** If false, the cookies expire with the browser session. */
  readonly remembered: boolean
  readonly version: number
  /** Value of the session cookie: `<sessionId>.<secret>`. */
  readonly cookie: string
}

/** Options of {@link createSession}. The session list shows `address` and `userAgent`. */
export interface NewSessionOptions extends Pick<EventRequest, 'address' | 'userAgent'> {
  userId: string
  config: AuthConfig
  /** @default a random UUID */
  id?: string
  /** The trusted issuer whose tokens, and no others, are valid for the session. @default null: our own */
  issuer?: string | null
  /** If false, the cookies expire with the browser session, and the session after a day. @default true */
  rememberMe?: boolean | undefined
  /** The methods by which the user has just proved who they are (RFC 8176), such as `pwd`. @default none */
  amr?: readonly string[] | undefined
  /** The authentication context class that an OpenID provider reported. @default null */
  acr?: string | null | undefined
  /** Whether the account knew this browser, for the event `session.created`. @default null, not known */
  knownDevice?: boolean | null
  /** The browser's previous session cookie. Its session ends. @default null */
  replaces?: SessionCookie | null
  /** Runs in the transaction; if it throws, no session begins. */
  authorize?: (trx: AuthTransaction) => Promise<void>
}

/** In characters. A longer `User-Agent` is forged, and cut. */
export const MAX_USER_AGENT_LENGTH = 512

/** After the setting was lowered, several sign-ins end the excess. More at once would take too long. */
const MAX_EVICTED = 1_000

/**
 * Begins a session with a new secret for a user who has just proved who they are. Ends the browser's previous
 * session, and the oldest ones beyond `maxSessionsPerUser`. Sign-ins of one user run one after another.
 * @throws EndpointError `USER_NOT_FOUND`, or `TOO_MANY_SESSIONS` if `whenFull` is `reject`
 * @throws AuthError `ACCOUNT_BANNED` or `SESSIONS_UNAVAILABLE`
 * @throws ConfigurationError if `issuer` isn't one of `trustedIssuers`
 */
export async function createSession(database: AnyDatabase, options: NewSessionOptions): Promise<NewSession> {
  const { userId, config, rememberMe: remembered = true, replaces = null, address = null } = options
  const { id = crypto.randomUUID(), issuer = null, knownDevice = null, amr = [], acr = null } = options
  if (issuer !== null && !config.issuers.slice(1).some((trusted) => trusted.issuer === issuer))
    throw new ConfigurationError(`createSession: ${issuer} is not trusted. Add it to trustedIssuers.`)
  const now = config.now()
  const userAgent = options.userAgent?.slice(0, MAX_USER_AGENT_LENGTH) ?? null
  const version = 1
  const { secret, columns } = await createCredentials(version)
  const expiresAt = expiryOf({ createdAt: now, remembered }, config.lifetimes, now)

  await commit(database, async (trx, record) => {
    await lockValidUser(trx, userId, now)
    await options.authorize?.(trx)
    if (replaces !== null) await deleteSessionOf(replaces, { trx, record, cause: 'replaced', at: now })
    await evictSessions(trx, record, { userId, config, now })
    const row = { ...columns, id, userId, issuer, ipAddress: address, userAgent, expiresAt, remembered }
    const proof = { lastAuthenticatedAt: now, amr: addMethods(null, amr, now), acr }
    const session = { ...row, ...proof, lastSeenAt: now, createdAt: now, updatedAt: now }
    await trx.insertInto('session').values(session).execute()
    record({ type: 'session.created', at: now, userId, sessionId: id, address, userAgent, knownDevice })
  })
  return { id, userId, expiresAt, remembered, version, cookie: `${id}.${secret}` }
}

/** Until the transaction ends, the user can't be banned and no other session of this user begins. */
export async function lockValidUser(trx: AuthTransaction, userId: string, now: Date): Promise<void> {
  const user = await lockUser(trx, userId)
  if (user === undefined) throw reject('USER_NOT_FOUND')
  const ban = { banned: Boolean(user.banned), banExpires: toNullableDate(user.banExpires) }
  if (isBanned(ban, now)) throw new AuthError('ACCOUNT_BANNED')
}

/** Ends the oldest sessions, so one more fits in `maxSessionsPerUser`. */
async function evictSessions(
  trx: AuthTransaction,
  record: RecordEvent,
  { userId, config, now }: { userId: string; config: AuthConfig; now: Date },
): Promise<void> {
  const { maxSessionsPerUser, whenFull } = config
  if (maxSessionsPerUser === Number.POSITIVE_INFINITY) return
  const query = trx.selectFrom('session').select(['id', 'expiresAt']).where('userId', '=', userId)
  const unpruned = query.where('expiresAt', '>', dayBefore(now)).orderBy('createdAt', 'desc')
  const sessions = (await unpruned.execute()).filter(({ expiresAt }) => readDate(expiresAt) > now)
  const excess = sessions.slice(maxSessionsPerUser - 1)
  if (excess.length === 0) return
  if (whenFull === 'reject') throw reject('TOO_MANY_SESSIONS')
  const onlyIds = excess.slice(-MAX_EVICTED).map(({ id }) => id)
  await deleteSessions(trx, record, { userId, onlyIds, cause: 'evicted', at: now })
}
