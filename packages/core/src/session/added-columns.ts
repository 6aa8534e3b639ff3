import { readDate } from './read-date.ts'

/**
 * The type of a column: `flag` is a boolean, `timestamp` a date, which sessions have as ISO 8601. Only tables
 * of other libraries have a `date`, which sessions have as a `Date`, and `json`, which they have parsed.
 */
export type ColumnType = 'text' | 'number' | 'flag' | 'timestamp' | 'date' | 'json'

/** A column added to one of our tables. Without a default, it can be null. */
export interface ColumnShape {
  readonly type: ColumnType
  readonly default?: string | number | boolean
}

/** A column of the row in another table whose columns equal those of the session; null without such a row. */
export interface ForeignColumn {
  /** May include a schema. */
  readonly table: string
  readonly column: string
  /** Names of stored session columns, by the column of the row. */
  readonly where: Readonly<Record<string, string>>
}

/** A column added to `session`. */
export interface SessionColumnShape extends ColumnShape {
  /** Step 2 reads this instead. */
  readonly from?: ForeignColumn
}

/** The columns that an auth definition adds to `user` and `session`, by name. Step 2 reads them too. */
export interface AddedColumns {
  readonly user: Readonly<Record<string, ColumnShape>>
  readonly session: Readonly<Record<string, SessionColumnShape>>
}

interface Values {
  readonly text: string
  readonly number: number
  readonly flag: boolean
  readonly timestamp: string
  readonly date: Date
  readonly json: unknown
}

/** The members that columns add to a session or user. */
export type AddedValues<Columns extends AddedColumns['user']> = {
  readonly [Name in keyof Columns]:
    | Values[Columns[Name]['type']]
    | (Columns[Name] extends { readonly default: string | number | boolean } ? never : null)
}

export const NO_COLUMNS: AddedColumns = { user: {}, session: {} }

/** Returns the columns that the tables have: a foreign one is stored only if a `where` names it. */
export function storedColumns({ user, session }: AddedColumns): AddedColumns {
  const named = Object.values(session).flatMap(({ from }) => Object.values(from?.where ?? {}))
  const stored = Object.entries(session).filter(([name, { from }]) => !from || named.includes(name))
  return { user, session: Object.fromEntries(stored) }
}

export type ColumnList = readonly (readonly [name: string, type: ColumnType])[]

/** The added columns of both tables, in the order in which statements select them. */
export interface AddedLists {
  readonly session: ColumnList
  readonly user: ColumnList
}

/** Returns the order in which added columns are selected; null if there are none. */
export function addedLists({ session, user }: AddedColumns): AddedLists | null {
  const list = (columns: AddedColumns['user']): ColumnList =>
    Object.entries(columns).map(([name, { type }]) => [name, type] as const)
  const lists = { session: list(session), user: list(user) }
  return lists.session.length + lists.user.length === 0 ? null : lists
}

/** Adds the values of columns to a session or user, from their place in a row. Keeps its own members. */
export function addValues(
  target: Record<string, unknown>,
  columns: ColumnList,
  { values, from }: { values: readonly unknown[]; from: number },
): void {
  let place = from
  for (const [name, type] of columns) {
    const value = values[place++] ?? null
    if (!Object.hasOwn(target, name)) target[name] = decodeColumn(value, type)
  }
}

/** Decodes the value of a column, the same for every database. An unreadable one becomes null. */
export function decodeColumn(value: unknown, type: ColumnType = 'text'): unknown {
  if (type === 'flag') return FLAGS.get(String(value)) ?? null
  if (type === 'json') return typeof value === 'string' ? parseJson(value) : value
  if (type !== 'timestamp' && type !== 'date') return value
  // A date of birth may be before the dates of sessions.
  const date = type === 'date' && typeof value === 'number' ? new Date(value) : readDate(value)
  if (Number.isNaN(date.getTime())) return null
  return type === 'date' ? date : date.toISOString()
}

/** A column of text in PostgreSQL contains JSON in JSON. */
function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' && /^[[{]/.test(value) ? (parseJson(value) ?? value) : value
  } catch {
    return null
  }
}

/** Some drivers read integers as text. */
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])
