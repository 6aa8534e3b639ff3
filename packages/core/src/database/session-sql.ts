import { type AddedColumns, addedLists, NO_COLUMNS } from '../session/added-columns.ts'
import { type DateEncoding, type Engine, namesOf, quote, type StoreMapping } from './mapping.ts'

/** The parts of statements that read a session `s` and its user `u`. */
export interface SessionSql {
  readonly engine: Engine
  /** Quoted names, and the columns of a `LookupRow`. */
  readonly session: Readonly<Record<'table' | 'id' | 'userId' | 'columns', string>>
  readonly user: Readonly<Record<'table' | 'id' | 'columns', string>>
  /** The added columns of both tables, each after a comma. */
  readonly added: string
}

export function sessionSql(
  engine: Engine,
  mapping?: StoreMapping,
  columns: AddedColumns = NO_COLUMNS,
): SessionSql {
  const { session, user, dates, issuer } = namesOf(engine, mapping)
  const list = (table: string, expressions: Record<string, string | null>) =>
    Object.entries(expressions)
      .map(([alias, column]) => {
        if (column === null) return `null as ${quote(alias)}`
        const reference = `${table}.${quote(column)}`
        if (MOMENTS.has(alias)) return `${moment(reference, engine, dates)} as ${quote(alias)}`
        // A row without a version matches no token. The cast is for drivers that read a bigint as text.
        if (alias === 'version')
          return `coalesce(${reference}, 0)${engine === 'postgres' ? '::float8' : ''} as ${quote(alias)}`
        return `${reference} as ${quote(alias)}`
      })
      .join(', ')
  const added = addedLists(columns)
  const addedOf = (table: string, names: readonly (readonly [string, string])[] = []) =>
    names.map(([name, type]) => {
      const reference = `${table}.${quote(name)}`
      return `, ${type === 'timestamp' ? moment(reference, engine, dates) : reference}`
    })
  const { expiresAt, lastAuthenticatedAt, version, rotatedAt } = session.columns
  const issuerOfAll = issuer === null ? 'null' : `'${issuer.replaceAll("'", "''")}'`
  const issuerOfRow = session.columns.issuer === null ? issuerOfAll : `s.${quote(session.columns.issuer)}`
  const { name, email, role, banned, banExpires } = user.columns
  return {
    engine,
    session: {
      table: quote(session.table),
      id: quote(session.columns.id),
      userId: quote(session.columns.userId),
      columns: `${list('s', { expiresAt, lastAuthenticatedAt, version, rotatedAt })}, ${issuerOfRow} as "issuer"`,
    },
    user: {
      table: quote(user.table),
      id: quote(user.columns.id),
      columns: list('u', { name, email, role, banned, banExpires }),
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
