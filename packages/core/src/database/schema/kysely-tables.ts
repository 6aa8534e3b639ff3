import type { ColumnType, Generated, InsertType, Kysely, SelectType, UpdateType } from 'kysely'
import type { AuditRecordResponse } from '../../protocol.ts'
import { readDate } from '../../session/read-date.ts'

/** A moment. Write a `Date`; SQLite returns ISO 8601 text and PostgreSQL a `Date`: use `new Date(value)`. */
export type Timestamp = ColumnType<Date | string, Date, Date>
/** A {@link Timestamp} that may be null. */
export type NullableTimestamp = ColumnType<Date | string | null, Date | null, Date | null>
/** A boolean. SQLite returns 0 or 1. */
export type Flag = ColumnType<boolean | number, boolean, boolean>
/** A {@link Flag} that may be null. */
export type NullableFlag = ColumnType<boolean | number | null, boolean | null, boolean | null>
/** A column with a default, which an insert may omit. */
export type Defaulted<Column> = ColumnType<
  SelectType<Column>,
  InsertType<Column> | undefined,
  UpdateType<Column>
>

/** A user. Names and types are Better Auth's, so its databases can be read in place. */
export interface UserTable {
  id: string
  name: string
  email: string
  emailVerified: Flag
  image: string | null
  role: string
  banned: Flag
  banReason: string | null
  banExpires: NullableTimestamp
  createdAt: Timestamp
  updatedAt: Timestamp
}

/** A session (`docs/sessions.md`). */
export interface SessionTable {
  id: string
  /** `sha256:<hex>` of the secret in the session cookie. The secret isn't stored. */
  token: string
  userId: string
  ipAddress: string | null
  userAgent: string | null
  expiresAt: Timestamp
  lastAuthenticatedAt: Timestamp
  /** When a JWT was last issued, to the minute. */
  lastSeenAt: Timestamp
  /** If false, the cookies expire with the browser session, and the session after a day. */
  remembered: Flag
  /** The `token` before this one, valid for a short time after `rotatedAt`. */
  previousToken: string | null
  rotatedAt: NullableTimestamp
  /** The key of the MAC in the session's secrets, which recognizes an earlier secret without storing it. */
  tokenFamily: string | null
  /** Increases with the secret. Step 2 rejects a JWT of another version. */
  version: Generated<number>
  /** The version at which the user last proved who they are. Secrets of earlier versions are superseded. */
  provedVersion: Generated<number>
  /** The issuer that owns the session; null if we do. */
  issuer: string | null
  /** JSON, see `Session`. Null if unknown. */
  amr: string | null
  acr: string | null
  createdAt: Timestamp
  updatedAt: Timestamp
}

/** A way to sign in. The provider of email and password is `credential`. */
export interface AccountTable {
  id: string
  userId: string
  accountId: string
  providerId: string
  /** A PHC string of argon2id, for the provider `credential`. */
  password: string | null
  createdAt: Timestamp
  updatedAt: Timestamp
}

/** One row for each change of a session or user. Outlives both. */
export interface AuditTable extends Omit<AuditRecordResponse, 'detail' | 'createdAt'> {
  /** The other members of the event, as JSON. */
  detail: string
  createdAt: Timestamp
}

/** Counters of rate limits. `expire` is in milliseconds. */
export interface RateLimitTable {
  key: string
  points: number
  expire: number | null
}

/** Changes that may have ended sessions, written by triggers of PostgreSQL. */
export interface RevocationLogTable {
  /** PostgreSQL returns text, since it may exceed a safe integer. */
  seq: Generated<number | string>
  /** Null means every session of the user. */
  sessionId: string | null
  /** Null means every user. */
  userId: string | null
  at: Generated<Date | string>
}

/** Sign-ins that a second factor must complete. `id` is the hash of a random token. */
export interface ChallengeTable {
  id: string
  userId: string
  /** A JSON array of the methods that were proved. */
  amr: string
  acr: string | null
  remembered: Flag
  attempts: number
  expiresAt: Timestamp
}

/** Used service JWTs by `jti`. A row outlives its JWT, since the clocks of nodes differ. */
export interface ServiceTokenTable {
  id: string
  expiresAt: Timestamp
}

/** Calls of internal functions by a hash of the acting user and the idempotency key; see `runOnce`. */
export interface ServiceCallTable {
  id: string
  fn: string
  /** SHA-256 of the input. */
  body: string
  userId: string | null
  /** JSON; null until the call has ended. */
  result: string | null
  expiresAt: Timestamp
}

/**
 * Our tables. An app adds its own: `Kysely<AuthTables & MyTables>`. In PostgreSQL the internal ones are in
 * the schema `sallyport`, or the option `schema`. In SQLite their names have a prefix: `sallyport_audit`.
 */
export interface AuthTables {
  user: UserTable
  session: SessionTable
  account: AccountTable
  'sallyport.audit': AuditTable
  'sallyport.rate_limit': RateLimitTable
  'sallyport.revocation_log': RevocationLogTable
  'sallyport.challenge': ChallengeTable
  'sallyport.service_token': ServiceTokenTable
  'sallyport.service_call': ServiceCallTable
}

export type AuthKysely = Kysely<AuthTables>

/** Unreadable text becomes an invalid date, which means expired. */
export function toNullableDate(value: Date | string | null): Date | null {
  return value === null ? null : readDate(value)
}

/** Returns when a ban ends, as ISO 8601. Null is never, as for a date that can't be read. */
export function toBanEnd(banExpires: Date | string | null): string | null {
  const date = toNullableDate(banExpires)
  return date === null || Number.isNaN(date.getTime()) ? null : date.toISOString()
}
