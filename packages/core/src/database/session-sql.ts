import { type AddedColumns, addedLists, NO_COLUMNS } from '../session/added-columns.ts'
import { SESSION_COLUMNS, USER_COLUMNS } from '../session/session-row.ts'
import { type DateEncoding, type Engine, literal, namesOf, quote, type StoreMapping } from './mapping.ts'

/** The parts of statements that read a session `s` and its user `u`. */
export interface SessionSql {
  readonly engine: Engine
  /** Quoted names, and the columns of a `LookupRow`. */
  readonly session: Readonly<Record<'table' | 'id' | 'userId' | 'columns', string>>
  readonly user: Readonly<Record<'table' | 'id' | 'columns', string>>
  /** The added columns of both tables, each after a comma. */
  readonly added: string
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
    if (MOMENTS.has(name)) return moment(reference, engine, dates)
    // A row without a version matches no token. The cast is for drivers that read a bigint as text.
    if (name === 'version') return `coalesce(${reference}, 0)${engine === 'postgres' ? '::float8' : ''}`
    return reference
  }

  const added = addedLists(columns)
  const addedOf = (table: string, names: readonly (readonly [string, string])[] = []) =>
    names.map(([name, type]) => {
      const reference = `${table}.${quote(name)}`
      return `, ${type === 'timestamp' ? moment(reference, engine, dates) : reference}`
    })
  return {
    engine,
    session: {
      table: quote(session.table),
      id: quote(session.columns.id),
      userId: quote(session.columns.userId),
      columns: listOf('s', SESSION_COLUMNS, session.columns),
    },
    user: {
      table: quote(user.table),
      id: quote(user.columns.id),
      columns: listOf('u', USER_COLUMNS, user.columns),
    },
    added: [...addedOf('s', added?.session), ...addedOf('u', added?.user)].join(''),
  }
}

const MOMENTS = new Set(['expiresAt', 'lastAuthenticatedAt', 'rotatedAt', 'banExpires'])

/** All drivers read numbers the same way. ISO text isn't converted, so an invalid date fails only one row. */
function moment(column: string, engine: Engine, dates: DateEncoding): string {
  if (dates === 'iso') return column
  if (dates === 'timestamp') return `(extract(epoch from ${column}) * 1000)::float8`
  // As a float, since seconds in an integer column could overflow when multiplied.
  const number = engine === 'postgres' ? `${column}::float8` : column
  return dates === 'seconds' ? `(${number} * 1000)` : number
}
