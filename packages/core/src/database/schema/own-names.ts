import { ConfigurationError } from '../../protocol/errors.ts'
import { type AddedColumns, NO_COLUMNS, storedColumns } from '../../session/added-columns.ts'
import type { AccountTable, SessionTable, UserTable } from './kysely-tables.ts'
import type { StoreMapping } from './mapping.ts'
import { USER_TABLES } from './tables.ts'

/** The app's names for one of our tables. */
export interface OwnTableNames<Table> {
  /** May include a schema, such as `app.users`. */
  readonly table?: string
  /** Names of columns that differ, added columns too, or `snake_case` for all: `expires_at`. */
  readonly columns?: 'snake_case' | (Readonly<Partial<Record<keyof Table, string>>> & Names)
}

/** The app's names for our tables of users, which its own tool creates with our columns and types. */
export interface OwnNames {
  readonly user?: OwnTableNames<UserTable>
  readonly session?: OwnTableNames<SessionTable>
  readonly account?: OwnTableNames<AccountTable>
}

type Names = Readonly<Record<string, string>>

/** One of our tables, under the app's name. */
export interface RenamedTable {
  readonly schema: string | null
  readonly name: string
  /** The names of all columns, by ours. */
  readonly columns: ReadonlyMap<string, string>
}

export type RenamedTables = ReadonlyMap<string, RenamedTable>

/** Returns the app's names of our tables. @throws ConfigurationError for a column that we don't have */
export function renamedTables(names: OwnNames, columns: AddedColumns = NO_COLUMNS): RenamedTables {
  const added: Readonly<Record<string, object>> = { ...storedColumns(columns) }
  return new Map(
    Object.entries(USER_TABLES).map(([table, own]): [string, RenamedTable] => {
      const { table: name = table, columns: renamed = {} }: OwnTableNames<Names> =
        names[table as keyof OwnNames] ?? {}
      const known = [...Object.keys(own.columns), ...Object.keys(added[table] ?? {})]
      const unknown =
        renamed === 'snake_case' ? undefined : Object.keys(renamed).find((key) => !known.includes(key))
      if (unknown !== undefined)
        throw new ConfigurationError(`names: ${table}.columns.${unknown} is unknown. Check the name.`)
      const nameOf = (column: string) =>
        renamed === 'snake_case' ? toSnakeCase(column) : (renamed[column] ?? column)
      const [first = name, second] = name.split('.')
      const entries = known.map((column) => [column, nameOf(column)] as const)
      return [
        table,
        { schema: second === undefined ? null : first, name: second ?? first, columns: new Map(entries) },
      ]
    }),
  )
}

/** Returns the mapping of `session` and `user`, for statements that aren't built with Kysely. */
export function ownMapping(tables: RenamedTables): StoreMapping {
  const of = (name: 'session' | 'user') => {
    const table = tables.get(name)
    return { ...(table && { table: fullName(table) }), columns: Object.fromEntries(table?.columns ?? []) }
  }
  return { session: of('session'), user: of('user') }
}

/** Returns the name of a table with its schema. */
export function fullName({ schema, name }: RenamedTable): string {
  return schema === null ? name : `${schema}.${name}`
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
