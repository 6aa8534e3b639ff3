import { type AddedColumns, type ForeignColumn, NO_COLUMNS } from '../session/added-columns.ts'

/** A table whose rows Step 2 reads, besides those of sessions and users. */
export interface WatchedTable {
  readonly table: string
  /** The column with the id of the user; empty if its changes concern everyone. */
  readonly userId: string
  /** The columns that Step 2 reads. */
  readonly compared: readonly string[]
}

/** Returns the tables that foreign columns read. */
export function watchedTables({ session }: AddedColumns = NO_COLUMNS): WatchedTable[] {
  const foreign = Object.values(session).flatMap(({ from = [] }) => from)
  return [...Map.groupBy(foreign, ({ table }) => table)].map(([table, columns]) => {
    const [userId = '', ...others] = new Set(columns.map(userColumn))
    const compared = new Set(columns.flatMap(({ column, where }) => [column, ...Object.keys(where)]))
    return { table, userId: others.length === 0 ? userId : '', compared: [...compared] }
  })
}

/** Returns the stored columns of sessions that decide which rows Step 2 reads. */
export function decidingColumns({ session }: AddedColumns = NO_COLUMNS): string[] {
  const names = Object.values(session).flatMap(({ from }) => Object.values(from?.where ?? {}))
  return [...new Set(names)].filter((name) => name !== 'userId')
}

function userColumn({ where }: ForeignColumn): string {
  return Object.keys(where).find((name) => where[name] === 'userId') ?? ''
}
