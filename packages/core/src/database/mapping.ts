import { ConfigurationError } from '../protocol/errors.ts'

/**
 * How a database writes moments: `timestamp` with or without a time zone, where one without is UTC; ISO 8601 text; or a number of
 * seconds or milliseconds since 1970.
 */
export type DateEncoding = 'timestamp' | 'iso' | 'seconds' | 'milliseconds'

/** The names of a table and its columns; see {@link StoreMapping}. */
export interface TableMapping<Columns> {
  /** Its name, after that of its schema and a dot where it is in another. */
  readonly table?: string
  /** Null for a column that there is none of. */
  readonly columns?: Partial<Columns>
}

/** The columns of a session that Step 2 reads. */
export interface SessionColumns {
  readonly id: string
  readonly userId: string
  readonly expiresAt: string
  /** A table without it may name its `createdAt`. Without either, no session is ever fresh. */
  readonly lastAuthenticatedAt: string | null
  /**
   * An integer that increases when older tokens of the session must stop working. Step 2 compares it with the
   * JWT. Without it a copied token stays valid until it expires.
   * @default null
   */
  readonly version: string | null
}

/** The columns of a user that Step 2 reads. */
export interface UserColumnNames {
  readonly id: string
  readonly name: string | null
  readonly email: string | null
  /** Without it everyone has the role `user`. */
  readonly role: string | null
  /** Without it nobody is banned. */
  readonly banned: string | null
  /** Without it a ban has no end. */
  readonly banExpires: string | null
}

/** How the tables of another library are named and write their dates. What is left out is as in ours. */
export interface StoreMapping {
  readonly session?: TableMapping<SessionColumns>
  readonly user?: TableMapping<UserColumnNames>
  /** @default 'iso' in SQLite, 'timestamp' in PostgreSQL */
  readonly dates?: DateEncoding
  /**
   * The issuer of these sessions, one of `trustedIssuers`. Tokens of any other issuer are `TOKEN_INVALID`
   * here.
   * @default our own
   */
  readonly issuer?: string
}

/** A {@link StoreMapping} with nothing left out. */
export interface Names {
  readonly session: { readonly table: string; readonly columns: SessionColumns & OwnColumns }
  readonly user: { readonly table: string; readonly columns: UserColumnNames }
  readonly dates: DateEncoding
  /** The issuer of all sessions in a mapped table, which has no column for it. */
  readonly issuer: string | null
}

/** The columns of a session that only our own table has. */
interface OwnColumns {
  readonly issuer: string | null
  readonly rotatedAt: string | null
}

/** The databases that there is a store for. */
export type Engine = 'sqlite' | 'postgres'

const MAPPED_SESSION: SessionColumns & OwnColumns = {
  id: 'id',
  userId: 'userId',
  expiresAt: 'expiresAt',
  lastAuthenticatedAt: 'lastAuthenticatedAt',
  version: null,
  issuer: null,
  rotatedAt: null,
}

const OWN_SESSION: SessionColumns & OwnColumns = {
  ...MAPPED_SESSION,
  version: 'version',
  issuer: 'issuer',
  rotatedAt: 'rotatedAt',
}

const USER: UserColumnNames = {
  id: 'id',
  name: 'name',
  email: 'email',
  role: 'role',
  banned: 'banned',
  banExpires: 'banExpires',
}

/**
 * Fills in the names that a mapping leaves out. Without a mapping they are those of our own tables.
 *
 * @throws ConfigurationError if a column that Step 2 needs is null
 */
export function namesOf(engine: Engine, mapping?: StoreMapping): Names {
  const { session, user, dates, issuer = null } = mapping ?? {}
  const columns = mapping === undefined ? OWN_SESSION : { ...MAPPED_SESSION, ...session?.columns }
  const names: Names = {
    session: { table: session?.table ?? 'session', columns },
    user: { table: user?.table ?? 'user', columns: { ...USER, ...user?.columns } },
    dates: dates ?? (engine === 'sqlite' ? 'iso' : 'timestamp'),
    issuer,
  }
  const { id, userId, expiresAt } = names.session.columns
  for (const [name, column] of Object.entries({
    id,
    userId,
    expiresAt,
    'id of the user': names.user.columns.id,
  })) {
    if (typeof column !== 'string')
      throw new ConfigurationError(`mapping: the column ${name} has to be named`)
  }
  return names
}

/** A name as SQL takes it; one with a dot is that of a schema and of something in it. */
export function quote(name: string): string {
  return name
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.')
}
