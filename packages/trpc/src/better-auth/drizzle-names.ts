import { ConfigurationError } from '@sallyport/core'
import type { DateEncoding } from '@sallyport/core/sqlite'
import { callOf, memberOf, textOf } from './member.ts'
import type { TableNames } from './table-names.ts'

const [NAME, SCHEMA] = [Symbol.for('drizzle:Name'), Symbol.for('drizzle:Schema')]

/** Returns the names in a schema of Drizzle. */
export function drizzleNames(tables: unknown, db: unknown): TableNames {
  const tableOf = (model: string) => {
    const table = memberOf(tables, model)
    if (typeof table === 'object') return table
    throw new ConfigurationError(`the Drizzle schema has no table ${model}`)
  }
  const columnOf = (model: string, field: string) => {
    const column = memberOf(tableOf(model), field)
    if (typeof column === 'object') return column
    throw new ConfigurationError(`the Drizzle table ${model} has no column ${field}`)
  }
  const casing = memberOf(db, 'dialect', 'casing')
  return {
    table: (model) => {
      const table = tableOf(model)
      const [schema, name] = [textOf(table, SCHEMA), textOf(table, NAME) ?? model]
      return schema === undefined ? name : `${schema}.${name}`
    },
    column: (model, field) => {
      const column = columnOf(model, field)
      // The option `casing` renames the columns that have no name.
      const isNamed = memberOf(column, 'keyAsName') !== true || typeof casing !== 'object'
      return String(isNamed ? memberOf(column, 'name') : callOf(casing, 'getColumnCasing', column))
    },
    dates: (model, field) => {
      const encoding = encodingOf(columnOf(model, field))
      if (encoding !== undefined) return encoding
      throw new ConfigurationError(`the date format of the Drizzle column ${model}.${field} is unknown`)
    },
  }
}

function encodingOf(column: unknown): DateEncoding | undefined {
  const [type = '', mode] = [textOf(column, 'columnType'), textOf(column, 'mode')]
  if (/^Pg(Timestamp|Date)/.test(type)) return 'timestamp'
  if (/^(SQLite|Pg)(Text|Varchar)$/.test(type)) return 'iso'
  if (type !== 'SQLiteTimestamp') return undefined
  return mode === 'timestamp' ? 'seconds' : mode === 'timestamp_ms' ? 'milliseconds' : undefined
}
