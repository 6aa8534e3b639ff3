/** What a column holds: `flag` is a boolean, `timestamp` a moment, which a session has as ISO 8601. */
export type ColumnType = 'text' | 'number' | 'flag' | 'timestamp'

/** A column that is added to one of our tables. Without a default it may be null. */
export interface ColumnShape {
  readonly type: ColumnType
  readonly default?: string | number | boolean
}

/** Columns that an auth definition adds to `user` and `session`, by name. Step 2 reads them with the rest. */
export interface AddedColumns {
  readonly user: Readonly<Record<string, ColumnShape>>
  readonly session: Readonly<Record<string, ColumnShape>>
}

/** For a definition that adds none. */
export const NO_COLUMNS: AddedColumns = { user: {}, session: {} }

/** The added columns of one table, in the order in which they are read. */
type ColumnList = readonly (readonly [name: string, type: ColumnType])[]

/** The added columns of both tables, in the order in which they are read. */
export interface AddedLists {
  readonly session: ColumnList
  readonly user: ColumnList
}

/** The order in which added columns are read; null where there are none. */
export function addedLists({ session, user }: AddedColumns): AddedLists | null {
  const list = (columns: AddedColumns['user']): ColumnList =>
    Object.entries(columns).map(([name, { type }]) => [name, type] as const)
  const lists = { session: list(session), user: list(user) }
  return lists.session.length + lists.user.length === 0 ? null : lists
}

/** The members of a session or user that added columns stand for. */
export function readColumns(columns: ColumnList, values: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(
    columns.map(([name, type], place) => [name, decodeColumn(values[place] ?? null, type)]),
  )
}

/** The value of a column, alike on every database. Of a moment that is none nothing is known. */
export function decodeColumn(value: unknown, type: ColumnType = 'text'): unknown {
  if (value === null) return null
  if (type === 'flag') return Boolean(value)
  if (type !== 'timestamp') return value
  const isMoment = typeof value === 'string' || typeof value === 'number' || value instanceof Date
  const date = isMoment ? new Date(value) : new Date(Number.NaN)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}
