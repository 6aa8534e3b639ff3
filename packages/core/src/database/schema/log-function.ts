import { channelOf, type InternalNames, internalTable } from './internal-tables.ts'
import { type DateEncoding, literal, quote } from './mapping.ts'

/** PostgreSQL limits a notification to 8,000 bytes. */
const MAX_NOTIFICATION_BYTES = 7_900

/** After a statement with more entries, one empty notification makes the nodes read the log. */
const MAX_NOTIFICATIONS = 100

/** A statement that ends more sessions adds one entry for everyone, to limit its memory. */
const MAX_ENTRIES = 100_000

/** A table whose changes can end sessions, by the names of its columns. */
export interface WatchedTable {
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

interface Comparison {
  readonly watched: WatchedTable
  readonly dates: DateEncoding
  readonly isByRow: boolean
}

/**
 * Returns the rest of the statement that creates the function of the triggers. It catches every error, since
 * a trigger must never fail a statement of the app. If rows can't be compared, everyone's sessions count as
 * changed. Without the log, it notifies the nodes that everyone's sessions have changed. No handler can catch
 * that `prepare transaction` rejects a transaction that has notified.
 *
 * It runs with its owner's rights, so a role that changes sessions needs no rights on our schema. Without
 * nested loops, a plan made for one row is also fast for many.
 */
export function logFunctionBody(internal: InternalNames, comparison: Comparison): string {
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
 * Returns the statement that selects the ids of ended sessions. It pairs the rows of an update by their
 * order, and compares their ids, so a wrong pair counts as changed.
 */
function selectEnded({ watched, dates, isByRow }: Comparison, event: 'update' | 'delete'): string {
  const { sessionId, userId, expiresAt } = watched
  const id = (name: string | null) => (name === null ? 'null' : text('previous', name))
  const rows = (row: 'old' | 'new') => (isByRow ? `(select ${row}.*) as changed` : `${row}_rows`)
  const numbered = (row: 'old' | 'new') =>
    `(select row_number() over () as sallyport_place, * from ${rows(row)})`
  const time = (row: string, name: string) => moment(text(row, name), dates)
  const compared = [...new Set(watched.compared)].filter((name) => name !== null)
  const changes = [
    ...compared.map((name) => `${text('previous', name)} is distinct from ${text('following', name)}`),
    ...(expiresAt === null
      ? []
      : [
          `(${text('previous', expiresAt)} is distinct from ${text('following', expiresAt)}
            and not coalesce(${time('following', expiresAt)} >= ${time('previous', expiresAt)}, false))`,
        ]),
  ]
  const deleted =
    expiresAt === null ? 'true' : `coalesce(${time('previous', expiresAt)} > ${now(dates)}, true)`
  const source =
    event === 'update'
      ? `${numbered('old')} as previous left join ${numbered('new')} as following using (sallyport_place) where ${changes.join(' or ')}`
      : `(select * from ${rows('old')}) as previous where ${deleted}`
  return `select array_agg(ended.session_id), array_agg(ended.user_id) into session_ids, user_ids
    from (select ${id(sessionId)} as session_id, ${id(userId)} as user_id from ${source}
      limit ${MAX_ENTRIES + 1}) as ended;`
}

/** Returns a column as text. A cast could be the table owner's, and would run with our rights. */
function text(row: string, name: string): string {
  const value = `${row}.${quote(name)}`
  return `case when ${value} is not null then format('%s', ${value}) end`
}

/** Returns an expiry that can be compared. Null or an error if it isn't a date. */
function moment(value: string, dates: DateEncoding): string {
  if (dates === 'timestamp' || dates === 'timestamptz') return `(${value})::timestamptz`
  if (dates === 'iso') return `case when (${value}) ~ '^[0-9]{4}-' then (${value})::timestamptz end`
  return `(${value})::numeric`
}

function now(dates: DateEncoding): string {
  if (dates !== 'seconds' && dates !== 'milliseconds') return 'now()'
  return dates === 'seconds' ? 'extract(epoch from now())' : 'extract(epoch from now()) * 1000'
}
