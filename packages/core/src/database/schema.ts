import type { ColumnType, Generated, InsertType, Kysely, SelectType, UpdateType } from 'kysely'

/**
 * A moment. Written as a `Date` on every database; read as ISO 8601 text from SQLite and as a `Date` from PostgreSQL, so read
 * it with `new Date(value)` unless it is one already.
 */
export type Timestamp = ColumnType<Date | string, Date, Date>
/** A {@link Timestamp} that may be null. */
export type NullableTimestamp = ColumnType<Date | string | null, Date | null, Date | null>
/** Read as 0 or 1 from SQLite. */
export type Flag = ColumnType<boolean | number, boolean, boolean>
/** A {@link Flag} that may be null. */
export type NullableFlag = ColumnType<boolean | number | null, boolean | null, boolean | null>
/** A column with a default: an insert may leave it out. */
export type Defaulted<Column> = ColumnType<
  SelectType<Column>,
  InsertType<Column> | undefined,
  UpdateType<Column>
>

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
  /** When the user last proved who they are: at sign-in or by `reauthenticate`. */
  lastAuthenticatedAt: Timestamp
  /** When a JWT was last issued for it, to the minute. */
  lastSeenAt: Timestamp
  /** False where the user did not want to be remembered: it ends with the browser, or after a day. */
  remembered: Flag
  /** The `token` before this one, which still counts for a moment after `rotatedAt`. */
  previousToken: string | null
  rotatedAt: NullableTimestamp
  /**
   * The key of the MAC in this session's secrets, by which an earlier secret is recognized without being
   * stored.
   */
  tokenFamily: string | null
  /** Increases with the secret. Step 2 rejects a JWT of another version. */
  version: Generated<number>
  /** The version at which the user last proved who they are. Secrets of earlier versions are superseded. */
  provedVersion: Generated<number>
  /** The issuer that owns the session; null if we do. */
  issuer: string | null
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

/** What happened to sessions and users: one row for each event that told of a change. Has no foreign keys, as it outlives both. */
export interface AuditTable {
  id: string
  /** Such as `session.revoked`. */
  type: string
  userId: string | null
  sessionId: string | null
  /** The admin who did it; null when the user did, or the app's own code. */
  actorId: string | null
  /** The client's address; null where it is unknown, or where the app's own code made the change. */
  address: string | null
  /** What the client sent as `User-Agent`. */
  userAgent: string | null
  /** The session that made the call. */
  actingSessionId: string | null
  /** The other members of the event, as JSON. */
  detail: string
  createdAt: Timestamp
}

/** Counters of rate limits. The columns are those of `rate-limiter-flexible`. */
export interface RateLimitTable {
  key: string
  points: number
  /** Milliseconds since 1970. */
  expire: number | null
}

/** What may have ended sessions, by triggers of the database; see `revocationLogStatements`. */
export interface RevocationLogTable {
  /** In PostgreSQL a text, as it may be too large for a number. */
  seq: Generated<number | string>
  /** Null concerns every session of the user. */
  sessionId: string | null
  /** Null concerns everyone. */
  userId: string | null
  at: Generated<Date | string>
}

/** Service JWTs that have been used. Their rows outlive them, as the clocks of nodes differ. */
export interface ServiceTokenTable {
  /** The claim `jti`. */
  id: string
  expiresAt: Timestamp
}

/** Calls of internal functions that may be sent again; see `runOnce`. */
export interface ServiceCallTable {
  /** Stands for the acting user and the idempotency key. */
  id: string
  /** The path of the function. */
  fn: string
  /** SHA-256 of what it was called with. */
  body: string
  userId: string | null
  /** The outcome as JSON; null while it is not known. */
  result: string | null
  expiresAt: Timestamp
}

/** The tables that sessions live in. An app adds its own: `Kysely<AuthTables & MyTables>`. */
export interface AuthTables {
  user: UserTable
  session: SessionTable
  account: AccountTable
  audit: AuditTable
  rateLimit: RateLimitTable
  revocation_log: RevocationLogTable
  serviceToken: ServiceTokenTable
  serviceCall: ServiceCallTable
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
