import type { Engine } from '../../database/schema/mapping.ts'
import type { Column, ForeignKey, Table, Tables } from '../../database/schema/table.ts'
import { ORIGIN } from './database-file.ts'

/** Returns a module with the tables for Drizzle. */
export function drizzleFile(tables: Tables, engine: Engine): string {
  const text = Object.entries(tables)
    .map(([name, table]) => tableText(name, table, engine))
    .join('\n')
  const used = FUNCTIONS.filter((name) => new RegExp(`(?<![\\w.'])${name}[(<]`).test(text))
  const sql = text.includes('sql`') ? `import { sql } from 'drizzle-orm'\n` : ''
  const source = engine === 'sqlite' ? 'drizzle-orm/sqlite-core' : 'drizzle-orm/pg-core'
  return `${ORIGIN}: change the auth definition and run that again.
${sql}import { ${used.join(', ')} } from '${source}'

${text}`
}

const FUNCTIONS = [
  ...['bigint', 'boolean', 'customType', 'doublePrecision', 'foreignKey', 'index', 'integer', 'pgTable'],
  ...['primaryKey', 'real', 'sqliteTable', 'text', 'timestamp', 'unique', 'uniqueIndex'],
]

/** The functions of Drizzle by the type of a column, with their options. */
const COLUMNS: Readonly<Record<Engine, Readonly<Record<string, readonly [string, options?: string]>>>> = {
  sqlite: {
    text: ['text'],
    integer: ['integer'],
    // drizzle-kit reads these as such.
    bigint: ['integer'],
    'varchar(255)': ['text', '{ length: 255 }'],
    flag: ['integer', `{ mode: 'boolean' }`],
    timestamp: ['text'],
    number: ['real'],
    real: ['real'],
  },
  postgres: {
    text: ['text'],
    integer: ['integer'],
    bigint: ['bigint', `{ mode: 'number' }`],
    flag: ['boolean'],
    timestamp: ['timestamp', `{ withTimezone: true, mode: 'date' }`],
    number: ['doublePrecision'],
    real: ['real'],
  },
}

function tableText(name: string, table: Table, engine: Engine): string {
  const create = engine === 'sqlite' ? 'sqliteTable' : 'pgTable'
  const keys = Object.keys(table.columns).filter((column) => table.columns[column]?.isPrimaryKey)
  const columns = Object.entries(table.columns).map(([column, { isPrimaryKey, ...shape }]) =>
    columnText(column, keys.length === 1 && isPrimaryKey ? { ...shape, isPrimaryKey } : shape, {
      table: name,
      engine,
    }),
  )
  const extras = [
    ...(keys.length > 1 ? [`primaryKey({ columns: [${membersOf('table', keys)}] })`] : []),
    ...extrasOf(table),
  ]
  const added =
    extras.length === 0 ? '' : `, (table) => [\n${extras.map((extra) => `  ${extra},\n`).join('')}]`
  return `export const ${identifier(name)} = ${create}('${name}', {\n${columns.join('')}}${added})\n`
}

function columnText(
  name: string,
  column: Column,
  { table, engine }: { table: string; engine: Engine },
): string {
  const { type, isNullable, isPrimaryKey, isAutoIncrement, isUnique, default: value } = column
  const declared = `customType<{ data: unknown }>({ dataType: () => ${JSON.stringify(type)} })`
  const [start, options] = COLUMNS[engine][type] ?? [declared]
  const parts = [
    `${start}('${name}'${options === undefined ? '' : `, ${options}`})`,
    isPrimaryKey && `.primaryKey(${isAutoIncrement ? '{ autoIncrement: true }' : ''})`,
    !isNullable && !isPrimaryKey && '.notNull()',
    // The name that PostgreSQL gives it.
    isUnique && `.unique('${table}_${name}_key')`,
    value !== undefined &&
      `.default(${typeof value === 'object' ? `sql\`${value.sql}\`` : JSON.stringify(value)})`,
  ]
  return `  ${/^\w+$/.test(name) ? name : JSON.stringify(name)}: ${parts.filter(Boolean).join('')},\n`
}

function extrasOf({ uniques = {}, foreignKeys = {}, indexes = {} }: Table): string[] {
  return [
    ...Object.entries(foreignKeys).map(([name, key]) => foreignKeyText(name, key)),
    ...Object.entries(uniques).map(([name, of]) => `unique('${name}').on(${membersOf('table', of)})`),
    ...Object.entries(indexes).map(
      ([name, { columns: of, isUnique }]) =>
        `${isUnique ? 'uniqueIndex' : 'index'}('${name}').on(${membersOf('table', of)})`,
    ),
  ]
}

function foreignKeyText(name: string, { columns, table, references, onDelete }: ForeignKey): string {
  const own = `columns: [${membersOf('table', columns)}]`
  const foreign = `foreignColumns: [${membersOf(identifier(table), references)}]`
  const action = onDelete === undefined ? '' : `.onDelete('${onDelete}')`
  return `foreignKey({ name: '${name}', ${own}, ${foreign} })${action}`
}

const access = (column: string) => (/^\w+$/.test(column) ? `.${column}` : `[${JSON.stringify(column)}]`)

const membersOf = (table: string, columns: readonly string[]) =>
  columns.map((column) => `${table}${access(column)}`).join(', ')

/** Returns the name of a table as a variable that no import has. */
function identifier(table: string): string {
  const name = table.replaceAll(/\W/g, '_')
  return [...FUNCTIONS, 'sql', 'table'].includes(name) ? `${name}Table` : name
}
