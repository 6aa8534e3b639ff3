import { type AddedColumns, type ForeignColumn, NO_COLUMNS } from '../../session/added-columns.ts'

/** A table that foreign columns read. */
export interface ForeignTable {
  readonly table: string
  /** The column with the id of the user; null if its changes concern everyone. */
  readonly userId: string | null
  /** The columns that Step 2 reads. */
  readonly compared: readonly string[]
}

export function foreignTables({ session }: AddedColumns = NO_COLUMNS): ForeignTable[] {
  const foreign = Object.values(session).flatMap(({ from = [] }) => from)
  return [...Map.groupBy(foreign, ({ table }) => table)].map(([table, columns]) => {
    const [userId = null, ...others] = new Set(columns.map(userColumn))
    const compared = new Set(columns.flatMap(({ column, where }) => [column, ...Object.keys(where)]))
    return { table, userId: others.length === 0 ? userId : null, compared: [...compared] }
  })
}

/** Returns the stored columns of sessions that decide which rows foreign columns read. */
export function keyColumns({ session }: AddedColumns = NO_COLUMNS): string[] {
  const names = Object.values(session).flatMap(({ from }) => Object.values(from?.where ?? {}))
  return [...new Set(names)].filter((name) => name !== 'userId')
}

function userColumn({ where }: ForeignColumn): string | null {
  return Object.keys(where).find((name) => where[name] === 'userId') ?? null
}
