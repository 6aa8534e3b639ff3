import { ConfigurationError } from '../errors.ts'

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
  /** A table without it may name its `createdAt`; without any, no session counts as fresh. */
  readonly lastAuthenticatedAt: string | null
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
  readonly banReason: string | null
  /** Without it a ban has no end. */
  readonly banExpires: string | null
}

/** How the tables of another library are named and write their dates. What is left out is as in ours. */
export interface StoreMapping {
  readonly session?: TableMapping<SessionColumns>
  readonly user?: TableMapping<UserColumnNames>
  /** @default 'iso' in SQLite, 'timestamp' in PostgreSQL */
  readonly dates?: DateEncoding
}

/** A {@link StoreMapping} with nothing left out. */
export interface Names {
  readonly session: { readonly table: string; readonly columns: SessionColumns }
  readonly user: { readonly table: string; readonly columns: UserColumnNames }
  readonly dates: DateEncoding
}

/** The databases that there is a store for. */
export type Engine = 'sqlite' | 'postgres'

const SESSION: SessionColumns = {
  id: 'id',
  userId: 'userId',
  expiresAt: 'expiresAt',
  lastAuthenticatedAt: 'lastAuthenticatedAt',
}

const USER: UserColumnNames = {
  id: 'id',
  name: 'name',
  email: 'email',
  role: 'role',
  banned: 'banned',
  banReason: 'banReason',
  banExpires: 'banExpires',
}

/**
 * Fills in our own names.
 *
 * @throws ConfigurationError where a column is said to be absent without which there is no Step 2
 */
export function namesOf(engine: Engine, { session, user, dates }: StoreMapping = {}): Names {
  const names: Names = {
    session: { table: session?.table ?? 'session', columns: { ...SESSION, ...session?.columns } },
    user: { table: user?.table ?? 'user', columns: { ...USER, ...user?.columns } },
    dates: dates ?? (engine === 'sqlite' ? 'iso' : 'timestamp'),
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
