import type { Column, Tables } from '../../database/schema/table.ts'
import { USER_TABLES } from '../../database/schema/tables.ts'
import type { AddedColumns } from '../../session/added-columns.ts'

/** The first line of every generated file. */
export const ORIGIN = '// Written by "sallyport generate"'

/** Returns the text of `generated/database.ts`: the added columns, and the tables for Kysely. */
export function databaseFile(columns: AddedColumns, tables: Tables): string {
  const added = addedOf(tables)
  const types = added.flatMap(([, ofTable]) => ofTable.map(([, column]) => typeOf(column))).join(' ')
  const used = COLUMN_TYPES.filter((name) => new RegExp(`\\b${name}\\b`).test(types))
  const imported = ['AddedColumns', 'AuthTables as CoreTables', ...used].join(', ')
  const members = added.map(([table, ofTable]) => {
    const lines = ofTable.map(([name, column]) => `    ${JSON.stringify(name)}: ${typeOf(column)}\n`)
    return `  ${JSON.stringify(table)}: {\n${lines.join('')}  }\n`
  })
  return `${ORIGIN}: change the auth definition and run that again.
import type { ${imported} } from '@sallyport/core/auth'

/** The columns that the auth definition adds: \`openSqlite(url, { columns: authColumns })\`. */
export const authColumns: AddedColumns = ${JSON.stringify(columns, null, 2)}

/** Our tables for Kysely, with the columns and tables that the auth definition adds. */
export type AuthTables = Pick<CoreTables, keyof CoreTables> & {
${members.join('')}}
`
}

type AddedTable = [table: string, columns: [name: string, column: Column][]]

/** Returns the tables in the order of their names, without the columns that `AuthTables` has already. */
function addedOf(tables: Tables): AddedTable[] {
  const ours: Tables = USER_TABLES
  return Object.entries(tables)
    .map(
      ([table, { columns }]): AddedTable => [
        table,
        Object.entries(columns).filter(([name]) => ours[table]?.columns[name] === undefined),
      ],
    )
    .filter(([, columns]) => columns.length > 0)
    .sort(([one], [other]) => (one < other ? -1 : 1))
}

/** Column types that `@sallyport/core/auth` exports. */
const COLUMN_TYPES = ['Defaulted', 'Flag', 'NullableFlag', 'NullableTimestamp', 'Timestamp']

function typeOf({ type, isNullable, isPrimaryKey, default: value }: Column): string {
  const plain = plainType(type)
  const isOurs = COLUMN_TYPES.includes(plain)
  if (isNullable) return isOurs ? `Nullable${plain}` : plain === 'unknown' ? plain : `${plain} | null`
  // SQLite numbers the rows.
  const isRowNumber = isPrimaryKey && type === 'integer'
  return value !== undefined || isRowNumber ? `Defaulted<${plain}>` : plain
}

/** Maps a declared type: one of our migration dialect, or any other by the rules of SQLite. */
function plainType(declared: string): string {
  if (/^(timestamp|datetime)/.test(declared)) return 'Timestamp'
  if (/^(flag|bool)/.test(declared)) return 'Flag'
  // PostgreSQL returns text, because the value can be too large for a number.
  if (declared === 'bigint') return 'number | string'
  if (/int|real|floa|doub|num|dec|serial/.test(declared)) return 'number'
  if (/char|clob|text|uuid|date|time/.test(declared)) return 'string'
  return /blob|bytea/.test(declared) ? 'Uint8Array' : 'unknown'
}
