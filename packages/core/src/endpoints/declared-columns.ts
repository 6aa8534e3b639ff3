import type * as z from 'zod'
import type { SessionTable, UserTable } from '../database/schema.ts'
import type { SessionResponse } from '../protocol.ts'
import { type ColumnType, decodeColumn } from '../session/added-columns.ts'

interface Column<Type extends ColumnType, Value> {
  /** What it holds: a flag is a boolean, and a moment is told as ISO 8601. @default 'text' */
  readonly type: Type
  /** What it holds until something is written to it. Without one it may be null, and so the schema has to take null. */
  readonly default?: Value
  /** What the column holds, as it is told. */
  readonly schema: z.ZodType<Value | null>
}

/** A column that a definition adds to the table `session`. It is created where it is missing. */
export type SessionColumn =
  | (Omit<Column<'text', string>, 'type'> & { readonly type?: 'text' | 'timestamp' })
  | Column<'number', number>
  | Column<'flag', boolean>

/** A column that a definition adds to the table `user`. It is created where it is missing. */
export type UserColumn = SessionColumn & {
  /** Whether users may set it themselves by `POST /update-user`. @default false */
  readonly input?: boolean
}

/** Columns by name. */
export type UserColumns = Readonly<Record<string, UserColumn>>

/** Columns by name. */
export type SessionColumns = Readonly<Record<string, SessionColumn>>

/** The members of a session that are ours: no plugin may claim them. */
export const OWN_SESSION_COLUMNS: readonly (keyof SessionTable | 'user' | keyof SessionResponse)[] = [
  'id',
  'token',
  'userId',
  'user',
  'ipAddress',
  'address',
  'userAgent',
  'device',
  'current',
  'expiresAt',
  'lastAuthenticatedAt',
  'lastSeenAt',
  'remembered',
  'previousToken',
  'rotatedAt',
  'tokenFamily',
  'version',
  'provedVersion',
  'issuer',
  'createdAt',
  'updatedAt',
]

/** The columns of `user` that are ours: no plugin may claim them. */
export const OWN_USER_COLUMNS: readonly (keyof UserTable)[] = [
  'id',
  'name',
  'email',
  'emailVerified',
  'image',
  'role',
  'banned',
  'banReason',
  'banExpires',
  'createdAt',
  'updatedAt',
]

/** The added columns of a row, as they are told. */
export function decodeColumns(
  row: Readonly<Record<string, unknown>>,
  columns: SessionColumns,
): Record<string, unknown> {
  const entries = Object.entries(columns).map(([name, { type }]) => [name, decodeColumn(row[name], type)])
  return Object.fromEntries(entries)
}

/** What columns are to be given, as the database takes it. */
export function encodeColumns(values: object, columns: UserColumns): Record<string, unknown> {
  const entries = Object.entries(values).map(([name, value]) => [name, encode(value, columns[name])])
  return Object.fromEntries(entries)
}

function encode(value: unknown, column: UserColumn | undefined): unknown {
  return column?.type === 'timestamp' && typeof value === 'string' ? new Date(value) : value
}
