import { channelOf, type InternalNames, internalTable } from './internal-tables.ts'
import { literal, namesOf, quote, type StoreMapping } from './mapping.ts'

/** PostgreSQL limits a notification to 8,000 bytes. A longer one is sent empty: the nodes read the log. */
const MAX_NOTIFICATION_BYTES = 7_900

/** The bits of `pg_trigger.tgtype`. */
const ROW_CHANGED = 1 | 8 | 16
const TRUNCATED = 32

export interface PostgresTrigger {
  readonly name: string
  /** The quoted name of its table. */
  readonly table: string
  readonly type: number
  readonly arguments: readonly string[]
  readonly statement: string
}

/** The function that the triggers run, in our schema. */
export const LOG_FUNCTION = 'log_revocation'

function logFunction(schema: string): string {
  return quote(`${schema}.${LOG_FUNCTION}`)
}

/**
 * Returns the triggers on the tables of sessions and users. They have no condition and name no column, since
 * PostgreSQL would reject an `alter table` of a column that they name. The function compares the rows:
 * `log_revocation(id, userId, expiresAt, dates, ...compared)`.
 */
export function postgresTriggers({ schema }: InternalNames, mapping?: StoreMapping): PostgresTrigger[] {
  const { session, user, dates } = namesOf('postgres', mapping)
  const { id, userId, expiresAt, version, issuer } = session.columns
  const { role, banned, banExpires } = user.columns
  const present = (columns: readonly (string | null)[]) => columns.filter((column) => column !== null)
  const trigger = (
    { table, name, when, type }: Pick<PostgresTrigger, 'table' | 'name' | 'type'> & { when: string },
    columns: readonly string[],
  ): PostgresTrigger => ({
    name: `${schema}_${name}`,
    table,
    type,
    arguments: columns,
    statement: `create or replace trigger ${quote(`${schema}_${name}`)} after ${when} on ${table}
      for each ${type === TRUNCATED ? 'statement' : 'row'}
      execute function ${logFunction(schema)}(${columns.map(literal).join(', ')})`,
  })
  const both = (name: string, table: string, columns: readonly string[]) => [
    trigger({ table, name: `${name}_changed`, when: 'update or delete', type: ROW_CHANGED }, columns),
    trigger({ table, name: `${name}_truncated`, when: 'truncate', type: TRUNCATED }, []),
  ]
  return [
    ...both('session', quote(session.table), [
      id,
      userId,
      expiresAt,
      dates,
      ...present([id, userId, version, issuer]),
    ]),
    ...both('user', quote(user.table), [
      '',
      user.columns.id,
      '',
      dates,
      ...present([user.columns.id, role, banned, banExpires]),
    ]),
  ]
}

/**
 * Returns the statement that creates the function of the triggers. It catches every error, since a trigger
 * must never fail a statement of the app. A row that can't be compared counts as changed. Without the log, it
 * notifies the nodes without a number.
 *
 * It runs with its owner's rights, so a role that changes sessions needs no rights on our schema.
 */
export function logFunctionStatement(internal: InternalNames): string {
  const log = internalTable(internal, 'revocation_log')
  const channel = literal(channelOf(internal.schema))
  return `create or replace function ${logFunction(internal.schema)}() returns trigger
    language plpgsql security definer
    set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '1s' as $function$
    declare
      previous jsonb;
      following jsonb;
      compared text;
      has_ended boolean;
      entry_seq bigint;
      session_id text;
      user_id text;
      payload text;
    begin
      if tg_op <> 'TRUNCATE' then
        begin
          previous := to_jsonb(old);
          session_id := previous ->> tg_argv[0];
          user_id := previous ->> tg_argv[1];
          if tg_op = 'UPDATE' then
            following := to_jsonb(new);
            has_ended := previous -> tg_argv[2] is distinct from following -> tg_argv[2]
              and not coalesce(${moment('following')} >= ${moment('previous')}, false);
            foreach compared in array tg_argv[4:] loop
              exit when has_ended;
              has_ended := previous -> compared is distinct from following -> compared;
            end loop;
          else
            has_ended := coalesce(${moment('previous')} > extract(epoch from now()), true);
          end if;
          if not has_ended then
            return null;
          end if;
        exception when others then
        end;
      end if;
      begin
        insert into ${log} ("sessionId", "userId") values (session_id, user_id)
          returning ${log}.seq into entry_seq;
      exception when others then
        entry_seq := null;
      end;
      begin
        payload := json_build_array(entry_seq::text, session_id, user_id)::text;
        perform pg_notify(${channel}, case when octet_length(payload) > ${MAX_NOTIFICATION_BYTES} then '' else payload end);
      exception when others then
      end;
      return null;
    end $function$`
}

/** Returns the seconds of the expiry in a row. Null if it has none; fails if it isn't a date. */
function moment(row: string): string {
  const value = `(${row} ->> tg_argv[2])`
  return `(case tg_argv[3]
    when 'seconds' then ${value}::numeric
    when 'milliseconds' then ${value}::numeric / 1000
    when 'iso' then extract(epoch from case when ${value} ~ '^[0-9]{4}-' then ${value} else 'invalid' end::timestamptz)
    else extract(epoch from ${value}::timestamptz) end)`
}
