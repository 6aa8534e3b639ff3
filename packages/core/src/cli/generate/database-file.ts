import type { AddedColumns } from '../../session/added-columns.ts'
import type { Column, Tables } from './read-tables.ts'

/** The first line of every generated file. */
export const ORIGIN = '// Written by "sallyport generate"'

/** Returns the text of `generated/database.ts`: the added columns, and the tables for Kysely. */
export function databaseFile(columns: AddedColumns, tables: Tables): string {
  const types = Object.values(tables).flat().map(typeOf).join(' ')
  const used = COLUMN_TYPES.filter((name) => new RegExp(`\\b${name}\\b`).test(types))
  const imported = ['AddedColumns', 'AuthTables as CoreTables', ...used].join(', ')
  const members = Object.entries(tables).map(([table, added]) => {
    const lines = added.map((column) => `    ${JSON.stringify(column.name)}: ${typeOf(column)}\n`)
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

/** Column types that `@sallyport/core/auth` exports. */
const COLUMN_TYPES = ['Defaulted', 'Flag', 'NullableFlag', 'NullableTimestamp', 'Timestamp']

function typeOf({ type, isNullable, hasDefault }: Column): string {
  const plain = plainType(type)
  const isOurs = COLUMN_TYPES.includes(plain)
  if (isNullable) return isOurs ? `Nullable${plain}` : plain === 'unknown' ? plain : `${plain} | null`
  return hasDefault ? `Defaulted<${plain}>` : plain
}

/** Maps a declared type: one of our migration dialect, or any other by the rules of SQLite. */
function plainType(declared: string): string {
  if (/^(timestamp|datetime)/.test(declared)) return 'Timestamp'
  if (/^(flag|bool)/.test(declared)) return 'Flag'
  // PostgreSQL returns text, because the value can be too large for a number.
  if (declared === 'bigint') return 'number | string'
  if (/int|real|floa|doub|num|dec/.test(declared)) return 'number'
  if (/char|clob|text|uuid|date|time/.test(declared)) return 'string'
  return /blob|bytea/.test(declared) ? 'Uint8Array' : 'unknown'
}
