import type { Session, SessionKey } from '../session/session.ts'
import { type DateEncoding, type Engine, namesOf, quote, type StoreMapping } from './mapping.ts'

/** The parts of the statements that read a session `s` and its user `u`, written for one database. */
export interface SessionSql {
  readonly engine: Engine
  /** Quoted names, and the select list of {@link LookupRow} as far as the table has it. */
  readonly session: {
    readonly table: string
    readonly id: string
    readonly userId: string
    readonly columns: string
  }
  readonly user: { readonly table: string; readonly id: string; readonly columns: string }
}

/** A moment as ISO 8601 text, or in milliseconds since 1970. */
type Moment = string | number | null

/** What Step 2 reads, in the order of the select lists. */
export type LookupValues = readonly [
  expiresAt: Moment,
  lastAuthenticatedAt: Moment,
  name: string | null,
  email: string | null,
  role: string | null,
  banned: boolean | number | null,
  banReason: string | null,
  banExpires: Moment,
]

/** What Step 2 reads, by name. */
export interface LookupRow {
  readonly expiresAt: Moment
  readonly lastAuthenticatedAt: Moment
  readonly name: string | null
  readonly email: string | null
  readonly role: string | null
  readonly banned: boolean | number | null
  readonly banReason: string | null
  readonly banExpires: Moment
}

/** The parts of the statements for one database. */
export function sessionSql(engine: Engine, mapping?: StoreMapping): SessionSql {
  const { session, user, dates } = namesOf(engine, mapping)
  const list = (table: string, expressions: Record<string, string | null>) =>
    Object.entries(expressions)
      .map(([alias, column]) => {
        if (column === null) return `null as ${quote(alias)}`
        const reference = `${table}.${quote(column)}`
        const isMoment = MOMENTS.has(alias)
        return `${isMoment ? moment(reference, engine, dates) : reference} as ${quote(alias)}`
      })
      .join(', ')
  const { expiresAt, lastAuthenticatedAt } = session.columns
  const { name, email, role, banned, banReason, banExpires } = user.columns
  return {
    engine,
    session: {
      table: quote(session.table),
      id: quote(session.columns.id),
      userId: quote(session.columns.userId),
      columns: list('s', { expiresAt, lastAuthenticatedAt }),
    },
    user: {
      table: quote(user.table),
      id: quote(user.columns.id),
      columns: list('u', { name, email, role, banned, banReason, banExpires }),
    },
  }
}

const MOMENTS = new Set(['expiresAt', 'lastAuthenticatedAt', 'banExpires'])

/** Numbers are read alike by every driver and library; text stays text, so that what is no date fails for its own row alone. */
function moment(column: string, engine: Engine, dates: DateEncoding): string {
  if (dates === 'iso') return column
  if (dates === 'timestamp') return `(extract(epoch from ${column}) * 1000)::float8`
  // As a float first: the seconds of an integer column would not fit when multiplied.
  const number = engine === 'postgres' ? `${column}::float8` : column
  return dates === 'seconds' ? `(${number} * 1000)` : number
}

/** The session of a row. */
export function toSession(key: SessionKey, row: LookupRow): Session {
  const { expiresAt, lastAuthenticatedAt, name, email, role, banned, banReason, banExpires } = row
  const values = [expiresAt, lastAuthenticatedAt, name, email, role, banned, banReason, banExpires] as const
  return sessionOf(key, values)
}

/** The session of a row that was read as an array, which is faster. */
export function sessionOf({ sessionId, userId }: SessionKey, values: LookupValues): Session {
  const [expiresAt, lastAuthenticatedAt, name, email, role, banned, banReason, banExpires] = values
  return {
    id: sessionId,
    userId,
    expiresAt: toMoment(expiresAt),
    lastAuthenticatedAt:
      typeof lastAuthenticatedAt === 'string' ? lastAuthenticatedAt : toIso(lastAuthenticatedAt),
    user: {
      id: userId,
      name: name ?? '',
      email: email ?? '',
      role: role ?? 'user',
      // Whatever is plainly none lets in; a value that nobody has thought of does not.
      banned: banned !== 0 && banned !== false && banned !== null,
      banReason,
      banExpires: banExpires === null ? null : toMoment(banExpires),
    },
  }
}

/** What is no moment becomes an invalid date, which counts as expired, or as a ban without end. */
function toMoment(value: Moment): Date {
  return new Date(value ?? Number.NaN)
}

/** A moment that nobody knows is long ago. */
function toIso(value: number | null): string {
  const date = new Date(value ?? 0)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}
