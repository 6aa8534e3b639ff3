import type { AddedColumns, ColumnShape } from '../../session/added-columns.ts'
import { block, HEADER, importTypes, memberName, objectMember, quote } from './generated-text.ts'
import type { Column, Tables } from './read-tables.ts'

/** `generated/database.ts`: the columns that the definition adds, and the tables for Kysely. */
export function databaseFile(columns: AddedColumns, tables: Tables): string {
  const members = Object.entries(tables).map(
    ([table, added]) => `${memberName(table)}: ${block(added.map(member))}`,
  )
  const added = members.length === 0 ? '' : ` & ${block(members)}`
  const types = Object.values(tables).flat().map(typeOf).join(' ')
  const used = COLUMN_TYPES.filter((name) => new RegExp(`\\b${name}\\b`).test(types))
  return `${HEADER}${importTypes(['AddedColumns', 'AuthTables as CoreTables', ...used], '@sallyport/core/auth')}
/** The columns that the auth definition adds: \`openSqlite(url, { columns: authColumns })\`. */
export const authColumns: AddedColumns = ${block(
    (['user', 'session'] as const).map((table) => `${table}: ${shapes(columns[table])},`),
  )}

/** Our tables for Kysely, with the columns and tables that the auth definition adds. */
export type AuthTables = Pick<CoreTables, keyof CoreTables>${added}
`
}

function shapes(columns: Readonly<Record<string, ColumnShape>>): string {
  const members = Object.entries(columns).map(([name, { type, default: value }]) => {
    const shape =
      value === undefined ? {} : { default: typeof value === 'string' ? quote(value) : `${value}` }
    return objectMember(memberName(name), { type: quote(type), ...shape }, { indent: 4 })
  })
  return block(members)
}

/** The types of columns that are not of the language. */
const COLUMN_TYPES = ['Defaulted', 'Flag', 'NullableFlag', 'NullableTimestamp', 'Timestamp']

function member(column: Column): string {
  return `${memberName(column.name)}: ${typeOf(column)}`
}

function typeOf({ type, isNullable, hasDefault }: Column): string {
  const plain = plainType(type)
  const isOurs = COLUMN_TYPES.includes(plain)
  if (isNullable) return isOurs ? `Nullable${plain}` : plain === 'unknown' ? plain : `${plain} | null`
  return hasDefault ? `Defaulted<${plain}>` : plain
}

/** What a column holds. Beside those of a migration's dialect, by the rules of SQLite for declared types. */
function plainType(declared: string): string {
  if (/^(timestamp|datetime)/.test(declared)) return 'Timestamp'
  if (/^(flag|bool)/.test(declared)) return 'Flag'
  // PostgreSQL answers a text, as it may be too large for a number.
  if (declared === 'bigint') return 'number | string'
  if (/int|real|floa|doub|num|dec/.test(declared)) return 'number'
  if (/char|clob|text|uuid|date|time/.test(declared)) return 'string'
  return /blob|bytea/.test(declared) ? 'Uint8Array' : 'unknown'
}
