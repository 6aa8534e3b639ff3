import {
  type DateEncoding,
  type Engine,
  literal,
  type Names,
  namesOf,
  quote,
  type StoreMapping,
} from './mapping.ts'

/** How long an entry is kept: longer than the lease for which a stream continues without a database. */
export const LOG_RETENTION_MS: number = 60 * 60 * 1000

export const CHANNEL = 'sallyport_revocation'

/**
 * Returns statements that create the table `revocation_log` and its triggers. Each can run again. A trigger
 * appends in the transaction of the change, also when rows are changed by hand:
 * - a session is deleted before it expires, its `expiresAt` decreases, or its `userId` or `version` changes
 * - `banned`, `banExpires`, or `role` of a user changes, or a user is deleted
 * - in PostgreSQL, a table is truncated
 *
 * Renewals and pruning don't append.
 */
export function revocationLogStatements(engine: Engine, mapping?: StoreMapping): string[] {
  const names = namesOf(engine, mapping)
  return engine === 'sqlite' ? sqliteStatements(names) : postgresStatements(names)
}

/** Returns the tables and conditions of the triggers. They append if an `expiresAt` isn't a valid date. */
function conditions(
  { session, user }: Names,
  { isFuture, differs }: { isFuture: (column: string) => string; differs: string },
) {
  const { id, userId, expiresAt, version, issuer } = session.columns
  const { role, banned, banExpires } = user.columns
  const changed = (columns: readonly (string | null)[]) =>
    columns
      .filter((column) => column !== null)
      .map((column) => `new.${quote(column)} ${differs} old.${quote(column)}`)
      .join(' or ')
  const isNoLater = `not coalesce(new.${quote(expiresAt)} >= old.${quote(expiresAt)}, false)`
  return {
    sessions: quote(session.table),
    users: quote(user.table),
    sessionDeleted: `coalesce(${isFuture(`old.${quote(expiresAt)}`)}, true)`,
    sessionChanged: `${isNoLater} or ${changed([id, userId, version, issuer])}`,
    userChanged: changed([user.columns.id, role, banned, banExpires]),
  }
}

function sqliteStatements(names: Names): string[] {
  const { session, user, dates } = names
  const iso = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`
  const seconds = `unixepoch('subsec')`
  const now = { iso, timestamp: iso, seconds, milliseconds: `${seconds} * 1000` }
  const { sessions, users, sessionDeleted, sessionChanged, userChanged } = conditions(names, {
    isFuture: (column) => `${column} > ${now[dates]}`,
    differs: 'is not',
  })
  // SQLite trigger names are unique per file, so they contain the table. Another mapping may have left one.
  const trigger = (name: string, when: string, values: string) => [
    `drop trigger if exists ${quote(`sallyport_${name}`)}`,
    `create trigger ${quote(`sallyport_${name}`)} ${when} begin
      insert into revocation_log (sessionId, userId) ${values};
    end`,
  ]
  const sessionId = quote(session.columns.id)
  const sessionUserId = quote(session.columns.userId)
  const userId = quote(user.columns.id)
  // `replace into` deletes a row without firing its delete trigger.
  const replaced = (table: string, id: string) =>
    `before insert on ${table} when exists (select 1 from ${table} where ${id} = new.${id})`
  const ofSession = `values (old.${sessionId}, old.${sessionUserId})`
  const ofUser = `values (null, old.${userId})`
  const replacedSession = `select ${sessionId}, ${sessionUserId} from ${sessions}
    where ${sessionId} = new.${sessionId}`
  return [
    `create table if not exists revocation_log (
      seq integer primary key autoincrement,
      sessionId text,
      userId text,
      at text not null default (${iso})
    )`,
    ...trigger(`${session.table}_deleted`, `after delete on ${sessions} when ${sessionDeleted}`, ofSession),
    ...trigger(`${session.table}_changed`, `after update on ${sessions} when ${sessionChanged}`, ofSession),
    ...trigger(`${session.table}_replaced`, replaced(sessions, sessionId), replacedSession),
    ...trigger(`${user.table}_changed`, `after update on ${users} when ${userChanged}`, ofUser),
    ...trigger(`${user.table}_deleted`, `after delete on ${users}`, ofUser),
    ...trigger(`${user.table}_replaced`, replaced(users, userId), `values (null, new.${userId})`),
  ]
}

/** PostgreSQL limits a notification to 8,000 bytes. A longer one is sent empty: the nodes read the log. */
const MAX_NOTIFICATION_BYTES = 7_900

function postgresStatements(names: Names): string[] {
  const { session, user, dates } = names
  const epoch = 'extract(epoch from now())'
  const future: Readonly<Record<DateEncoding, (column: string) => string>> = {
    // Also reads a timestamp without a time zone as UTC; a comparison would read it as local time.
    timestamp: (column) => `extract(epoch from ${column}) > ${epoch}`,
    iso: (column) => `${column} > to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    seconds: (column) => `${column} > ${epoch}`,
    milliseconds: (column) => `${column} > ${epoch} * 1000`,
  }
  const { sessions, users, sessionDeleted, sessionChanged, userChanged } = conditions(names, {
    isFuture: future[dates],
    differs: 'is distinct from',
  })
  const trigger = (name: string, when: string, columns: readonly string[]) =>
    `create or replace trigger sallyport_${name} ${when}
      execute function sallyport_log_revocation(${columns.map(literal).join(', ')})`
  const row = (condition: string) => `for each row when (${condition})`
  const ofSession = [session.columns.id, session.columns.userId]
  const ofUser = ['', user.columns.id]
  return [
    `create table if not exists revocation_log (
      seq bigint generated always as identity primary key,
      "sessionId" text,
      "userId" text,
      at timestamptz not null default now(),
      xid xid8 not null default pg_current_xact_id()
    )`,
    'create index if not exists revocation_log_xid on revocation_log (xid, seq)',
    'create index if not exists revocation_log_at on revocation_log (at)',
    // Runs with its owner's rights, so a role that changes sessions needs no right to write the log. Names
    // the schema, or a temporary table of the same name would come first.
    `do $install$ begin execute format($create$
      create or replace function sallyport_log_revocation() returns trigger
      language plpgsql security definer set search_path = %I, pg_temp as $$
      declare
        entry revocation_log;
        payload text;
      begin
        if tg_op = 'TRUNCATE' then
          insert into revocation_log default values returning * into entry;
        else
          insert into revocation_log ("sessionId", "userId")
            values (to_jsonb(old) ->> tg_argv[0], to_jsonb(old) ->> tg_argv[1]) returning * into entry;
        end if;
        payload := json_build_array(entry.seq::text, entry."sessionId", entry."userId")::text;
        if octet_length(payload) > ${MAX_NOTIFICATION_BYTES} then payload := ''; end if;
        perform pg_notify('${CHANNEL}', payload);
        return null;
      end $$
      $create$, current_schema()); end $install$`,
    // Triggers don't need this right; no other caller may write the log.
    'revoke execute on function sallyport_log_revocation() from public',
    trigger('session_deleted', `after delete on ${sessions} ${row(sessionDeleted)}`, ofSession),
    trigger('session_changed', `after update on ${sessions} ${row(sessionChanged)}`, ofSession),
    trigger('session_truncated', `after truncate on ${sessions} for each statement`, []),
    trigger('user_changed', `after update on ${users} ${row(userChanged)}`, ofUser),
    trigger('user_deleted', `after delete on ${users} for each row`, ofUser),
    trigger('user_truncated', `after truncate on ${users} for each statement`, []),
  ]
}
