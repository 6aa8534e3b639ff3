import type { ColumnType, Kysely } from 'kysely'

/**
 * A moment. Written as a `Date` on every database; read as ISO 8601 text from SQLite and as a `Date` from PostgreSQL, so read
 * it through {@link toDate}.
 */
export type Timestamp = ColumnType<Date | string, Date, Date>
type NullableTimestamp = ColumnType<Date | string | null, Date | null, Date | null>
/** Read as 0 or 1 from SQLite. */
type Flag = ColumnType<boolean | number, boolean, boolean>

/** A person. Names and types are Better Auth's, so that its databases can be read in place. */
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

/** A session record (spec section 2). */
export interface SessionTable {
  id: string
  /** `sha256:<hex>` of the secret in the session cookie; the secret itself is stored nowhere. */
  token: string
  userId: string
  ipAddress: string | null
  userAgent: string | null
  expiresAt: Timestamp
  lastAuthenticatedAt: Timestamp
  lastSeenAt: Timestamp
  createdAt: Timestamp
  updatedAt: Timestamp
}

/** A way to sign in; `credential` is the provider of email and password. */
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

/** The tables that sessions live in. An app adds its own: `Kysely<AuthTables & MyTables>`. */
export interface AuthTables {
  user: UserTable
  session: SessionTable
  account: AccountTable
}

/** Any Kysely database that has our tables. */
export type AuthKysely = Kysely<AuthTables>

/** A timestamp column as a `Date`; text that is no date becomes an invalid one, which counts as expired. */
export function toDate(value: Date | string): Date {
  return value instanceof Date ? value : new Date(value)
}

/** Like {@link toDate}, for a column that may be null. */
export function toNullableDate(value: Date | string | null): Date | null {
  return value === null ? null : toDate(value)
}
