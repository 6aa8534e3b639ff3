import { createHash } from 'node:crypto'

import type { AddedColumns } from '../session/added-columns.ts'
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

/** The triggers of a table, and the function that they run. */
export interface TableTriggers {
  readonly table: string
  /** The name of the function in our schema, with a hash of its statement: other mappings have others. */
  readonly logFunction: string
  readonly functionStatement: string
  readonly triggers: readonly { readonly name: string; readonly type: number; readonly statement: string }[]
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
    const body = logFunctionBody(internal, { watched, dates, isByRow })
    const logFunction = `log_revocation_${createHash('sha256').update(body).digest('hex').slice(0, 16)}`
    const triggers = EVENTS.map(({ event, suffix, type, rows }) => {
      const ofRow = isByRow && rows !== null
      const name = `${schema}_${watched.name}_${suffix}`
      return {
        name,
        type: ofRow ? type | ROW : type,
        statement: `create or replace trigger ${quote(name)} after ${event} on ${quote(watched.table)}
          ${rows === null || ofRow ? '' : `referencing ${rows}`} for each ${ofRow ? 'row' : 'statement'}
          execute function ${quote(`${schema}.${logFunction}`)}()`,
      }
    })
    const functionStatement = `create or replace function ${quote(`${schema}.${logFunction}`)}() ${body}`
    return { table: watched.table, logFunction, functionStatement, triggers }
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
