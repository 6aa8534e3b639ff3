import { createHash } from 'node:crypto'
import type { AddedColumns } from '../session/added-columns.ts'
import { foreignTables, keyColumns } from './foreign-tables.ts'
import { channelOf, type InternalNames, internalTable } from './internal-tables.ts'
import { type DateEncoding, literal, namesOf, quote, type StoreMapping } from './mapping.ts'

/** PostgreSQL limits a notification to 8,000 bytes. */
const MAX_NOTIFICATION_BYTES = 7_900

/** After a statement with more entries, one empty notification makes the nodes read the log. */
const MAX_NOTIFICATIONS = 100

/** A statement that ends more sessions adds one entry for everyone, to limit its memory. */
const MAX_ENTRIES = 100_000

/** The bits of `pg_trigger.tgtype`. */
const ROW = 1
const EVENTS = [
  { event: 'update', suffix: 'changed', type: 16, rows: 'old table as old_rows new table as new_rows' },
  { event: 'delete', suffix: 'deleted', type: 8, rows: 'old table as old_rows' },
  { event: 'truncate', suffix: 'truncated', type: 32, rows: null },
] as const

/** A table whose changes can end sessions, by the names of its columns. */
interface Watched {
  /** Part of the names of its triggers. */
  readonly name: string
  readonly table: string
  /** Null if a change concerns all sessions of the user. */
  readonly sessionId: string | null
  /** Null if a change concerns everyone. */
  readonly userId: string | null
  /** Null if rows don't expire. */
  readonly expiresAt: string | null
  /** A change of these columns ends sessions. */
  readonly compared: readonly (string | null)[]
}

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
    const body = functionBody(internal, { watched, dates, isByRow })
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

function watchedTables({ mapping, columns }: WatchedColumns): Watched[] {
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

interface Comparison {
  readonly watched: Watched
  readonly dates: DateEncoding
  readonly isByRow: boolean
}

/**
 * Returns the rest of the statement that creates the function of the triggers. It catches every error, since
 * a trigger must never fail a statement of the app. If rows can't be compared, everyone's sessions count as
 * changed. Without the log, it notifies the nodes that everyone's sessions have changed.
 *
 * It runs with its owner's rights, so a role that changes sessions needs no rights on our schema. Without
 * nested loops, a plan made for one row is also fast for many.
 */
function functionBody(internal: InternalNames, comparison: Comparison): string {
  const log = internalTable(internal, 'revocation_log')
  return `returns trigger language plpgsql security definer
    set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '1s'
    set enable_nestloop = off as $function$
    declare
      session_ids text[] := array[null];
      user_ids text[] := array[null];
      payloads text[];
    begin
      if tg_op <> 'TRUNCATE' then
        begin
          if tg_op = 'UPDATE' then
            ${selectEnded(comparison, 'update')}
          else
            ${selectEnded(comparison, 'delete')}
          end if;
          if session_ids is null then
            return null;
          end if;
          if cardinality(session_ids) > ${MAX_ENTRIES} then
            session_ids := array[null];
            user_ids := array[null];
          end if;
        exception when others then
        end;
      end if;
      begin
        with entries as (
          insert into ${log} as entry ("sessionId", "userId") select * from unnest(session_ids, user_ids)
            returning case when cardinality(session_ids) <= ${MAX_NOTIFICATIONS}
              then json_build_array(entry.seq::text, entry."sessionId", entry."userId")::text end as payload
        ) select array_agg(entries.payload) into payloads from entries;
        if cardinality(payloads) > ${MAX_NOTIFICATIONS} then
          payloads := array[''];
        end if;
      exception when others then
        payloads := array['[null,null,null]'];
      end;
      begin
        perform pg_notify(${literal(channelOf(internal.schema))},
          case when octet_length(payload) > ${MAX_NOTIFICATION_BYTES} then '' else payload end) from unnest(payloads) as payload;
      exception when others then
      end;
      return null;
    end $function$`
}

/**
 * Returns the statement that selects the ids of ended sessions. It pairs the rows of an update by their order,
 * and compares their ids, so a wrong pair counts as changed.
 */
function selectEnded({ watched, dates, isByRow }: Comparison, event: 'update' | 'delete'): string {
  const { sessionId, userId, expiresAt } = watched
  const column = (row: string, name: string) => `${row}.${quote(name)}`
  const text = (name: string | null) => (name === null ? 'null' : `${column('previous', name)}::text`)
  const rows = (row: 'old' | 'new') =>
    `(select row_number() over () as sallyport_place, * from ${isByRow ? `(select ${row}.*) as changed` : `${row}_rows`})`
  const time = (row: string, name: string) => moment(column(row, name), dates)
  const compared = [...new Set(watched.compared)].filter((name) => name !== null)
  const changes = [
    ...compared.map(
      (name) => `${column('previous', name)}::text is distinct from ${column('following', name)}::text`,
    ),
    ...(expiresAt === null
      ? []
      : [
          `(${column('previous', expiresAt)} is distinct from ${column('following', expiresAt)}
            and not coalesce(${time('following', expiresAt)} >= ${time('previous', expiresAt)}, false))`,
        ]),
  ]
  const deleted =
    expiresAt === null ? 'true' : `coalesce(${time('previous', expiresAt)} > ${now(dates)}, true)`
  const source =
    event === 'update'
      ? `${rows('old')} as previous left join ${rows('new')} as following using (sallyport_place) where ${changes.join(' or ')}`
      : `${rows('old')} as previous where ${deleted}`
  return `select array_agg(ended.session_id), array_agg(ended.user_id) into session_ids, user_ids
    from (select ${text(sessionId)} as session_id, ${text(userId)} as user_id from ${source}
      limit ${MAX_ENTRIES + 1}) as ended;`
}

/** Returns an expiry that can be compared. Null or an error if it isn't a date. */
function moment(value: string, dates: DateEncoding): string {
  if (dates === 'timestamp') return `${value}::timestamptz`
  if (dates === 'iso') return `case when ${value} ~ '^[0-9]{4}-' then ${value}::timestamptz end`
  return `${value}::numeric`
}

function now(dates: DateEncoding): string {
  if (dates === 'timestamp' || dates === 'iso') return 'now()'
  return dates === 'seconds' ? 'extract(epoch from now())' : 'extract(epoch from now()) * 1000'
}
