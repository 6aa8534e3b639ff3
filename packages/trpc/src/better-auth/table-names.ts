import { ConfigurationError } from '@sallyport/core'
import type { DateEncoding } from '@sallyport/core/sqlite'
import type { BetterAuthContext } from './instance.ts'
import { memberOf, textOf } from './member.ts'

/** Maps the names that Better Auth's adapter uses to the names in the database. */
export interface TableNames {
  table(model: string): string
  column(model: string, field: string): string
  /** @throws ConfigurationError if the format of the dates is unknown */
  dates(model: string, field: string): DateEncoding
}

/**
 * Returns the names in the database.
 * @param db the app's database client, which may have the tables of Drizzle or Prisma
 * @throws ConfigurationError if they are unknown
 */
export function tableNames({ adapter, options }: BetterAuthContext, db: unknown): TableNames {
  switch (adapter.id) {
    case 'kysely':
      return kyselyNames(memberOf(options, 'database'), textOf(adapter, 'options', 'type'))
    case 'drizzle':
      return drizzleNames(memberOf(adapter, 'options', 'schema') ?? memberOf(db, '_', 'fullSchema'), db)
    case 'prisma':
      return prismaNames(memberOf(db, '_runtimeDataModel', 'models'), textOf(adapter, 'options', 'provider'))
    default:
      throw new ConfigurationError(`the table names of its adapter ${adapter.id} are unknown`)
  }
}

function kyselyNames(database: unknown, type: string | undefined): TableNames {
  const schema = textOf(database, 'schemaName')
  const kysely = memberOf(database, 'db')
  // Into a column without a time zone, the package `pg` writes local time.
  const timestamp = isUtc() ? 'timestamp' : 'timestamptz'
  const dates = () => (type === 'postgres' ? timestamp : 'iso')
  const full = (model: string) => (schema === undefined ? model : `${schema}.${model}`)
  if (typeof kysely !== 'object') return { table: full, column: (_, field) => field, dates }
  // Plugins of Kysely may rename columns.
  const compiled = (model: string, field: string) => {
    const query = call(call(call(kysely, 'selectFrom', full(model)), 'select', field), 'compile')
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

const [NAME, SCHEMA] = [Symbol.for('drizzle:Name'), Symbol.for('drizzle:Schema')]

function drizzleNames(tables: unknown, db: unknown): TableNames {
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
      return String(isNamed ? memberOf(column, 'name') : call(casing, 'getColumnCasing', column))
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

function prismaNames(models: unknown, provider: string | undefined): TableNames {
  const modelOf = (model: string) => {
    const found = memberOf(models, model.charAt(0).toUpperCase() + model.slice(1)) ?? memberOf(models, model)
    if (typeof found === 'object') return found
    throw new ConfigurationError(`the Prisma schema has no model ${model}`)
  }
  return {
    table: (model) => {
      const found = modelOf(model)
      const name = textOf(found, 'dbName') ?? model.charAt(0).toUpperCase() + model.slice(1)
      const schema = textOf(found, 'schema')
      return schema === undefined ? name : `${schema}.${name}`
    },
    column: (model, field) => {
      const fields = memberOf(modelOf(model), 'fields')
      const found: unknown = Array.isArray(fields) && fields.find((each) => textOf(each, 'name') === field)
      return textOf(found, 'dbName') ?? field
    },
    dates: () => (provider === 'postgresql' ? 'timestamp' : 'iso'),
  }
}

/** Calls a method of another library's object. */
function call(value: unknown, name: string, argument?: unknown): unknown {
  const method = memberOf(value, name)
  return typeof method === 'function' ? Reflect.apply(method, value, [argument]) : undefined
}
