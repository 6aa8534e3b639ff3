import type * as z from 'zod/mini'
import { reject } from '../protocol/endpoint-error.ts'
import { type ColumnType, decodeColumn, type ForeignColumn } from '../session/added-columns.ts'
import { readDate } from '../session/read-date.ts'

interface Column<Type extends ColumnType, Value> {
  /** A flag is a boolean; a timestamp is ISO 8601 in responses. @default 'text' */
  readonly type: Type
  /** The initial value. Without one it is null, which the schema must accept. */
  readonly default?: Value
  readonly schema: z.core.$ZodType<Value | null>
}

type AddedColumn =
  | (Omit<Column<'text', string>, 'type'> & { readonly type?: 'text' | 'timestamp' })
  | Column<'number', number>
  | Column<'flag', boolean>

/** A column that a definition adds to the table `session`. Created if missing. */
export type SessionColumn = AddedColumn & {
  /** Where Step 2 reads the value instead. @internal */
  readonly from?: ForeignColumn
}

/** A column that a definition adds to the table `user`. Created if missing. */
export type UserColumn = AddedColumn & {
  /** If true, users may set it with `POST /update-user`. @default false */
  readonly input?: boolean
}

export type UserColumns = Readonly<Record<string, UserColumn>>
export type SessionColumns = Readonly<Record<string, SessionColumn>>

export function decodeColumns(
  row: Readonly<Record<string, unknown>>,
  columns: SessionColumns,
): Record<string, unknown> {
  const entries = Object.entries(columns).map(([name, { type }]) => [name, decodeColumn(row[name], type)])
  return Object.fromEntries(entries)
}

/** @throws EndpointError `INVALID_INPUT` with the fields that a schema accepts, but no database can store */
export function encodeColumns(values: object, columns: UserColumns): Record<string, unknown> {
  const entries = Object.entries(values).map(([name, value]): [string, unknown] => {
    const isTimestamp = columns[name]?.type === 'timestamp' && typeof value === 'string'
    return [name, isTimestamp ? readDate(value) : value]
  })
  const fields = entries.filter(([, value]) => !isStorable(value)).map(([name]) => name)
  if (fields.length > 0) throw reject('INVALID_INPUT', { fields })
  return Object.fromEntries(entries)
}

/** PostgreSQL rejects the character U+0000. */
function isStorable(value: unknown): boolean {
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  return typeof value !== 'string' || !value.includes('\0')
}
