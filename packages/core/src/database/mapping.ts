import { ConfigurationError } from '../protocol/errors.ts'

/** How a database stores dates. A `timestamp` without a time zone is UTC, and numbers count from 1970. */
export type DateEncoding = 'timestamp' | 'iso' | 'seconds' | 'milliseconds'

/** The names of a table and its columns. */
export interface TableMapping<Columns> {
  /** Includes the schema and a dot if needed. */
  readonly table?: string
  /** Null for a column that the table doesn't have. */
  readonly columns?: Partial<Columns>
}

/** The columns of a session that Step 2 reads. */
export interface SessionColumns {
  readonly id: string
  readonly userId: string
  readonly expiresAt: string
  /** If the table has no such column, name its `createdAt`. Without either, no session is ever fresh. */
  readonly lastAuthenticatedAt: string | null
  /**
   * An integer that increases when older tokens of the session must stop working. Without it, a copied token
   * is valid until it expires.
   * @default null
   */
  readonly version: string | null
}

/** The columns of a user that Step 2 reads. */
export interface UserColumnNames {
  readonly id: string
  readonly name: string | null
  readonly email: string | null
  /** Without it, every user has the role `user`. */
  readonly role: string | null
  /** Without it, no user is banned. */
  readonly banned: string | null
  /** Without it, bans don't expire. */
  readonly banExpires: string | null
}

/** The names and date encoding of another library's tables. The defaults are the names of our own tables. */
export interface StoreMapping {
  readonly session?: TableMapping<SessionColumns>
  readonly user?: TableMapping<UserColumnNames>
  /** @default 'iso' in SQLite, 'timestamp' in PostgreSQL */
  readonly dates?: DateEncoding
  /**
   * The issuer of these sessions, one of `trustedIssuers`. Tokens of other issuers are `TOKEN_INVALID`.
   * @default our own
   */
  readonly issuer?: string
}

/** A {@link StoreMapping} with its defaults. */
export interface Names {
  readonly session: { readonly table: string; readonly columns: typeof OWN_SESSION }
  readonly user: { readonly table: string; readonly columns: UserColumnNames }
  readonly dates: DateEncoding
  /** The issuer of all sessions in a mapped table, which has no column for it. */
  readonly issuer: string | null
}

export type Engine = 'sqlite' | 'postgres'

const OWN_SESSION: SessionColumns & Readonly<Record<'issuer' | 'rotatedAt', string | null>> = {
  id: 'id',
  userId: 'userId',
  expiresAt: 'expiresAt',
  lastAuthenticatedAt: 'lastAuthenticatedAt',
  version: 'version',
  issuer: 'issuer',
  rotatedAt: 'rotatedAt',
}

const MAPPED_SESSION: typeof OWN_SESSION = { ...OWN_SESSION, version: null, issuer: null, rotatedAt: null }

const USER: UserColumnNames = {
  id: 'id',
  name: 'name',
  email: 'email',
  role: 'role',
  banned: 'banned',
  banExpires: 'banExpires',
}

/**
 * Returns the names of a mapping, or those of our own tables.
 *
 * @throws ConfigurationError if a column that Step 2 needs is null
 */
export function namesOf(engine: Engine, mapping?: StoreMapping): Names {
  const { session, user, dates, issuer = null } = mapping ?? {}
  const columns = mapping === undefined ? OWN_SESSION : { ...MAPPED_SESSION, ...session?.columns }
  const userColumns = { ...USER, ...user?.columns }
  const { id, userId, expiresAt } = columns
  const needed = { id, userId, expiresAt, 'id of the user': userColumns.id }
  for (const [name, column] of Object.entries(needed)) {
    if (typeof column !== 'string')
      throw new ConfigurationError(`mapping: the column ${name} must have a name`)
  }
  return {
    session: { table: session?.table ?? 'session', columns },
    user: { table: user?.table ?? 'user', columns: userColumns },
    dates: dates ?? (engine === 'sqlite' ? 'iso' : 'timestamp'),
    issuer,
  }
}

/** Quotes a name for SQL. A dot separates the schema. */
export function quote(name: string): string {
  const parts = name.split('.').map((part) => `"${part.replaceAll('"', '""')}"`)
  return parts.join('.')
}
