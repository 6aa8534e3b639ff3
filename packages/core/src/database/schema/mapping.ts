import { ConfigurationError } from '../../protocol/errors.ts'
import { SESSION_COLUMNS, USER_COLUMNS } from '../../session/session-row.ts'

/**
 * How a database stores dates. A `timestamp` without a time zone is UTC, but rejected for `timestamptz`.
 * Numbers count from 1970.
 */
export type DateEncoding = 'timestamp' | 'timestamptz' | 'iso' | 'seconds' | 'milliseconds'

/** The names of a table and its columns. */
export interface TableMapping<Columns> {
  /** May include a schema, such as `auth.session`. */
  readonly table?: string
  /** Null for a column that the table doesn't have. Also names added columns: `{ tenantId: 'tenant_id' }`. */
  readonly columns?: Partial<Columns> & Readonly<Record<string, string | null>>
}

/** The names of a table of sessions. */
export interface SessionMapping extends TableMapping<SessionColumns> {
  /**
   * The meaning of a session whose `expiresAt` is null. An `endless` one expires in the year 9999. Its JWTs
   * still expire.
   * @default 'expired'
   */
  readonly nullExpiresAt?: 'expired' | 'endless'
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

/** The names of a table of users. */
interface UserMapping extends TableMapping<UserColumnNames> {
  /** The role of a user whose role is null or empty. @default 'user' */
  readonly defaultRole?: string
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
  readonly session?: SessionMapping
  readonly user?: UserMapping
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
  readonly session: TableNames<typeof OWN_SESSION> & Required<Pick<SessionMapping, 'nullExpiresAt'>>
  readonly user: TableNames<UserColumnNames> & Pick<UserMapping, 'defaultRole'>
  readonly dates: DateEncoding
  /** The issuer of all sessions in a mapped table, which has no column for it. */
  readonly issuer: string | null
}

interface TableNames<Columns> {
  readonly table: string
  readonly columns: Columns & Readonly<Record<string, string | null>>
}

export type Engine = 'sqlite' | 'postgres'

const OWN_SESSION: SessionColumns & Readonly<Record<'issuer' | 'rotatedAt' | 'amr' | 'acr', string | null>> =
  sameNames(['id', 'userId', ...SESSION_COLUMNS])

const MAPPED_SESSION: typeof OWN_SESSION = {
  ...OWN_SESSION,
  version: null,
  issuer: null,
  rotatedAt: null,
  amr: null,
  acr: null,
}

const USER: UserColumnNames = sameNames(['id', ...USER_COLUMNS])

function sameNames<Name extends string>(names: readonly Name[]): Record<Name, string> {
  return Object.fromEntries(names.map((name) => [name, name as string])) as Record<Name, string>
}

/** Returns the names of a mapping, or of our own tables. @throws ConfigurationError if one is missing */
export function namesOf(engine: Engine, mapping?: StoreMapping): Names {
  const { session, user, dates, issuer = null } = mapping ?? {}
  const columns = { ...(mapping === undefined ? OWN_SESSION : MAPPED_SESSION), ...session?.columns }
  const userColumns = { ...USER, ...user?.columns }
  const { id, userId, expiresAt } = columns
  const needed = { 'session.id': id, 'session.userId': userId, 'session.expiresAt': expiresAt }
  const missing = Object.entries({ ...needed, 'user.id': userColumns.id })
    .filter(([, column]) => typeof column !== 'string')
    .map(([name]) => name)
  if (missing.length > 0)
    throw new ConfigurationError(`mapping: ${missing.join(', ')} can't be null. Name the columns.`)
  return {
    session: {
      table: session?.table ?? 'session',
      columns,
      nullExpiresAt: session?.nullExpiresAt ?? 'expired',
    },
    user: { ...user, table: user?.table ?? 'user', columns: userColumns },
    dates: dates ?? (engine === 'sqlite' ? 'iso' : 'timestamp'),
    issuer,
  }
}

/** Quotes a name for SQL. A dot separates the schema. */
export function quote(name: string): string {
  const parts = name.split('.').map((part) => `"${part.replaceAll('"', '""')}"`)
  return parts.join('.')
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
