import {
  type AddedColumns,
  type ColumnType,
  type ForeignColumn,
  NO_COLUMNS,
} from '../session/added-columns.ts'
import type { IdTypes } from '../session/id-types.ts'
import type { SessionToken } from '../session/session.ts'
import { SESSION_COLUMNS, USER_COLUMNS } from '../session/session-row.ts'
import {
  type DateEncoding,
  type Engine,
  literal,
  namesOf,
  quote,
  type StoreMapping,
} from './schema/mapping.ts'

/** The parts of statements that read a session `s` and its user `u`. */
export interface SessionSql {
  readonly engine: Engine
  /** Quoted names, and the columns of a `LookupRow`. */
  readonly session: Readonly<Record<'table' | 'id' | 'userId' | 'columns' | 'added' | 'locked', string>>
  /** The `added` columns each follow a comma. `locked` also locks the rows of other tables. */
  readonly user: Readonly<Record<'table' | 'id' | 'columns' | 'added', string>>
}

/** The statements that lock and read a session in a transaction. */
export interface SessionLocks {
  readonly sql: SessionSql
  /** The added columns that `sql` reads. @default none */
  readonly columns?: AddedColumns
  /** The types of the ids. @default the type that the database infers */
  readonly ids?: IdTypes
}

/** Returns the SQL that reads sessions and users, with dates in milliseconds or ISO 8601. */
export function sessionSql(
  engine: Engine,
  mapping?: StoreMapping,
  columns: AddedColumns = NO_COLUMNS,
): SessionSql {
  const { session, user, dates, issuer } = namesOf(engine, mapping)
  const listOf = <Name extends string>(
    table: string,
    names: readonly Name[],
    columns: Readonly<Record<Name, string | null>>,
  ) => names.map((name) => `${expression(table, name, columns[name])} as ${quote(name)}`).join(', ')

  function expression(table: string, name: string, column: string | null): string {
    // All sessions of a mapped table have one issuer.
    if (column === null) return name === 'issuer' && issuer !== null ? literal(issuer) : 'null'
    const reference = `${table}.${quote(column)}`
    if (name === 'expiresAt' && session.nullExpiresAt === 'endless')
      return `coalesce(${moment(reference, engine, dates)}, ${dates === 'iso' ? literal(ENDLESS.toISOString()) : ENDLESS.getTime()})`
    if (name === 'role' && user.defaultRole !== undefined)
      // The cast is for an enum, which has no empty value.
      return `coalesce(nullif(${reference}${engine === 'postgres' ? '::text' : ''}, ''), ${literal(user.defaultRole)})`
    if (MOMENTS.has(name)) return moment(reference, engine, dates)
    // A row without a version matches no token. The cast is for drivers that read a bigint as text.
    if (name === 'version') return `coalesce(${reference}, 0)${engine === 'postgres' ? '::float8' : ''}`
    return reference
  }

  function addedExpression(reference: string, type: ColumnType): string {
    if (type === 'timestamp' || type === 'date') return moment(reference, engine, dates)
    // Drivers differ in how they read JSON and arrays.
    if (type === 'json' && engine === 'postgres') return `to_jsonb(${reference})::text`
    // Drivers read a bigint as text.
    return type === 'number' && engine === 'postgres' ? `${reference}::float8` : reference
  }

  function foreign({ table, column, where }: ForeignColumn, lock: string): string {
    const conditions = Object.entries(where).map(([name, own]) => {
      // Better Auth has the active organization as text, whatever the type of its id.
      const cast = engine === 'postgres' && own !== 'userId' ? '::text' : ''
      return `r.${quote(name)}${cast} = s.${quote(session.columns[own] ?? own)}${cast}`
    })
    return `(select r.${quote(column)} from ${quote(table)} r where ${conditions.join(' and ')} limit 1${lock})`
  }

  const ofUser = Object.entries(columns.user).map(([name, { type }]) => {
    const reference = `u.${quote(user.columns[name] ?? name)}`
    return `, ${addedExpression(reference, type)} as ${quote(name)}`
  })
  const ofSession = (shapes: AddedColumns['session'], lock = '') =>
    Object.entries(shapes)
      .map(([name, { type, from }]) => {
        const reference = from ? foreign(from, lock) : `s.${quote(session.columns[name] ?? name)}`
        return `, ${addedExpression(reference, type)} as ${quote(name)}`
      })
      .join('')

  return {
    engine,
    session: {
      table: quote(session.table),
      id: quote(session.columns.id),
      userId: quote(session.columns.userId),
      columns: listOf('s', SESSION_COLUMNS, session.columns),
      added: ofSession(columns.session),
      locked: ofSession(columns.session, engine === 'postgres' ? ' for share' : ''),
    },
    user: {
      table: quote(user.table),
      id: quote(user.columns.id),
      columns: listOf('u', USER_COLUMNS, user.columns),
      added: ofUser.join(''),
    },
  }
}

/** The `expiresAt` of a session without one, which may be endless. */
const ENDLESS = new Date('9999-12-31T23:59:59.999Z')

/** Returns the statement for a session cookie, up to the session id. It reads our own table `session`. */
export function tokenStatement(engine: Engine, mapping?: StoreMapping): string {
  const { table, columns } = namesOf(engine, mapping).session
  const nameOf = (name: string) => quote(columns[name] ?? name)
  const list = TOKEN_COLUMNS.map((name) => `${nameOf(name)} as ${quote(name)}`).join(', ')
  return `select ${list} from ${quote(table)} where ${nameOf('id')} = `
}

const TOKEN_COLUMNS = [
  'userId',
  'token',
  'previousToken',
  'rotatedAt',
  'tokenFamily',
  'version',
  'provedVersion',
  'expiresAt',
  'createdAt',
  'lastSeenAt',
  'remembered',
] as const satisfies readonly (keyof SessionToken)[]

/** The database appends the type, and rejects all of it as a number. */
const WITHOUT_ZONE =
  'A date column has no time zone, so the driver writes local time. Change it to timestamptz, or set TZ=UTC. Its type is '

const MOMENTS = new Set(['expiresAt', 'lastAuthenticatedAt', 'rotatedAt', 'banExpires'])

/** All drivers read numbers the same way. ISO text isn't converted, so an invalid date fails only one row. */
function moment(column: string, engine: Engine, dates: DateEncoding): string {
  if (dates === 'iso') return column
  // `extract` computes with decimals, which takes five times as long. A float is up to 0.06 ms too low.
  if (dates === 'timestamp') return `floor(date_part('epoch', ${column}) * 1000 + 0.1)`
  if (dates === 'timestamptz')
    return `case when pg_typeof(${column}) = 'timestamptz'::regtype then ${moment(column, engine, 'timestamp')}
      else (${literal(WITHOUT_ZONE)} || pg_typeof(${column}))::float8 end`
  // As a float, since seconds in an integer column could overflow when multiplied.
  const number = engine === 'postgres' ? `${column}::float8` : column
  return dates === 'seconds' ? `(${number} * 1000)` : number
}
