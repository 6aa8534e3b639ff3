import type { AddedColumns } from '../../session/added-columns.ts'
import { foreignTables, keyColumns } from './foreign-tables.ts'
import type { InternalNames } from './internal-tables.ts'
import { logFunctionBody, type WatchedTable } from './log-function.ts'
import { namesOf, quote, type StoreMapping } from './mapping.ts'

/** The bits of `pg_trigger.tgtype`. */
const ROW = 1
const EVENTS = [
  { event: 'update', suffix: 'changed', type: 16, rows: 'old table as old_rows new table as new_rows' },
  { event: 'delete', suffix: 'deleted', type: 8, rows: 'old table as old_rows' },
  { event: 'truncate', suffix: 'truncated', type: 32, rows: null },
] as const

/**
 * Ends the names of triggers for each row. Partitions get them too, and a table that becomes one keeps its
 * own: PostgreSQL rejects two of one name.
 */
export const ROW_SUFFIX = '_row'

/** The triggers of a table, and the function that they run. */
export interface TableTriggers {
  readonly table: string
  readonly functionBody: string
  readonly triggers: readonly { readonly name: string; readonly type: number; readonly event: string }[]
}

/** The names and added columns of the tables that Step 2 reads. */
export interface WatchedColumns {
  readonly mapping?: StoreMapping | undefined
  readonly columns?: AddedColumns | undefined
}

interface TriggerOptions extends WatchedColumns {
  /** The quoted names of tables whose rows other tables can change, such as partitions. */
  readonly byRow?: ReadonlySet<string>
}

/**
 * Returns the triggers on the tables that Step 2 reads. They run once for each statement, or for each row
 * of a partitioned table. They have no condition and name no column, since PostgreSQL would reject an
 * `alter table` of a column that they name.
 */
export function postgresTriggers(
  internal: InternalNames,
  { mapping, columns, byRow }: TriggerOptions = {},
): TableTriggers[] {
  const { schema } = internal
  const { dates } = namesOf('postgres', mapping)
  return watchedTables({ mapping, columns }).map((watched) => {
    const isByRow = byRow?.has(quote(watched.table)) ?? false
    const triggers = EVENTS.map(({ event, suffix, type, rows }) => {
      const ofRow = isByRow && rows !== null
      return {
        name: `${schema}_${watched.name}_${suffix}${ofRow ? ROW_SUFFIX : ''}`,
        type: ofRow ? type | ROW : type,
        event: `after ${event} on ${quote(watched.table)}
          ${rows === null || ofRow ? '' : `referencing ${rows}`} for each ${ofRow ? 'row' : 'statement'}`,
      }
    })
    const functionBody = logFunctionBody(internal, { watched, dates, isByRow })
    return { table: watched.table, functionBody, triggers }
  })
}

function watchedTables({ mapping, columns }: WatchedColumns): WatchedTable[] {
  const { session, user } = namesOf('postgres', mapping)
  const { id, userId, expiresAt, version, issuer } = session.columns
  const { role, banned, banExpires } = user.columns
  return [
    {
      name: 'session',
      table: session.table,
      sessionId: id,
      userId,
      expiresAt,
      compared: [
        id,
        userId,
        version,
        issuer,
        ...keyColumns(columns).map((name) => session.columns[name] ?? name),
      ],
    },
    {
      name: 'user',
      table: user.table,
      sessionId: null,
      userId: user.columns.id,
      expiresAt: null,
      compared: [user.columns.id, role, banned, banExpires],
    },
    ...foreignTables(columns).map(({ table, userId, compared }) => ({
      name: table.slice(table.lastIndexOf('.') + 1),
      table,
      sessionId: null,
      userId,
      expiresAt: null,
      compared,
    })),
  ]
}
