import { callOf, memberOf, textOf } from './member.ts'
import type { TableNames } from './table-names.ts'

/** Returns the names in the database of Kysely, or of Better Auth's own adapter. */
export function kyselyNames(database: unknown, type: string | undefined): TableNames {
  const schema = textOf(database, 'schemaName')
  const kysely = memberOf(database, 'db')
  // Into a column without a time zone, the package `pg` writes local time.
  const timestamp = isUtc() ? 'timestamp' : 'timestamptz'
  const dates = () => (type === 'postgres' ? timestamp : 'iso')
  const full = (model: string) => (schema === undefined ? model : `${schema}.${model}`)
  if (typeof kysely !== 'object') return { table: full, column: (_, field) => field, dates }
  // Plugins of Kysely may rename columns.
  const compiled = (model: string, field: string) => {
    const query = callOf(callOf(callOf(kysely, 'selectFrom', full(model)), 'select', field), 'compile')
    const [column = '', ...table] = [...(textOf(query, 'sql') ?? '').matchAll(/"([^"]*)"/g)].map(
      ([, name]) => name ?? '',
    )
    return { column, table: table.join('.') }
  }
  return {
    table: (model) => compiled(model, 'id').table,
    column: (model, field) => compiled(model, field).column,
    dates,
  }
}

/** Returns whether local time is UTC, in each month of this year. */
function isUtc(): boolean {
  const year = new Date().getFullYear()
  return Array.from({ length: 12 }, (_, month) => new Date(year, month)).every(
    (date) => date.getTimezoneOffset() === 0,
  )
}
