import { type DateEncoding, type Engine, type Names, namesOf, quote, type StoreMapping } from './mapping.ts'

/**
 * How long an entry is kept, in milliseconds: longer than any node goes without its connection while its streams go on, which is the lease of
 * seconds.
 */
export const LOG_KEPT_MS: number = 60 * 60 * 1000

/** The channel that PostgreSQL notifies. */
export const CHANNEL = 'sallyport_revocation'

/**
 * Returns the statements that make the table `revocation_log` and its triggers. A trigger appends in the
 * transaction of the change itself, also if rows are changed by hand:
 * - a session is deleted before its time, its `expiresAt` moves earlier, or its `userId` or `version` changes
 * - `banned`, `banExpires`, or `role` of a user changes, or a user is deleted
 * - in PostgreSQL, a table is truncated
 *
 * Renewals and pruning don't append. Each statement can run again.
 */
export function revocationLogStatements(engine: Engine, mapping?: StoreMapping): string[] {
  const names = namesOf(engine, mapping)
  return engine === 'sqlite' ? sqliteStatements(names) : postgresStatements(names)
}

interface Conditions {
  readonly sessionDeleted: string
  readonly sessionChanged: string
  readonly userChanged: string
}

/** When a change may end sessions. Of an `expiresAt` that is no date any more nobody knows whether it is earlier. */
function conditions({ session, user, dates }: Names, { isAhead, differs }: Words): Conditions {
  const { id, userId, expiresAt, version, issuer } = session.columns
  const { role, banned, banExpires } = user.columns
  const of = (row: 'old' | 'new', column: string) => `${row}.${quote(column)}`
  const changed = (columns: readonly (string | null)[]) =>
    columns
      .filter((column) => column !== null)
      .map((column) => `${of('new', column)} ${differs} ${of('old', column)}`)
      .join(' or ')
  const isNoLater = `not coalesce(${of('new', expiresAt)} >= ${of('old', expiresAt)}, false)`
  return {
    sessionDeleted: `coalesce(${isAhead(of('old', expiresAt), dates)}, true)`,
    sessionChanged: `${isNoLater} or ${changed([id, userId, version, issuer])}`,
    userChanged: changed([user.columns.id, role, banned, banExpires]),
  }
}

/** What the two databases say differently. */
interface Words {
  /** Whether a moment is yet to come. */
  readonly isAhead: (column: string, dates: DateEncoding) => string
  readonly differs: string
}

function sqliteStatements(names: Names): string[] {
  const iso = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`
  const now = {
    iso,
    timestamp: iso,
    seconds: `unixepoch('subsec')`,
    milliseconds: `unixepoch('subsec') * 1000`,
  }
  const words: Words = { isAhead: (column, dates) => `${column} > ${now[dates]}`, differs: 'is not' }
  const { sessionDeleted, sessionChanged, userChanged } = conditions(names, words)
  const { session, user } = names
  const trigger = (name: string, when: string, values: string) => [
    // One of another mapping may be there.
    `drop trigger if exists ${quote(`sallyport_${name}`)}`,
    `create trigger ${quote(`sallyport_${name}`)} ${when} begin
      insert into revocation_log (sessionId, userId) ${values};
    end`,
  ]
  const of = ({ table, columns: { id } }: Names['session' | 'user']) => ({
    // In SQLite the names of triggers are those of the whole file.
    name: table,
    table: quote(table),
    /** `replace into` deletes a row without its trigger. */
    replaced: `before insert on ${quote(table)} when exists (select 1 from ${quote(table)} where ${quote(id)} = new.${quote(id)})`,
  })
  const [sessions, users] = [of(session), of(user)]
  const { id, userId } = session.columns
  const ofSession = `values (old.${quote(id)}, old.${quote(userId)})`
  const ofUser = (row: 'old' | 'new') => `values (null, ${row}.${quote(user.columns.id)})`
  const replacedSession = `select ${quote(id)}, ${quote(userId)} from ${sessions.table} where ${quote(id)} = new.${quote(id)}`
  return [
    `create table if not exists revocation_log (
      seq integer primary key autoincrement,
      sessionId text,
      userId text,
      at text not null default (${iso})
    )`,
    ...trigger(
      `${sessions.name}_deleted`,
      `after delete on ${sessions.table} when ${sessionDeleted}`,
      ofSession,
    ),
    ...trigger(
      `${sessions.name}_changed`,
      `after update on ${sessions.table} when ${sessionChanged}`,
      ofSession,
    ),
    ...trigger(`${sessions.name}_replaced`, sessions.replaced, replacedSession),
    ...trigger(`${users.name}_changed`, `after update on ${users.table} when ${userChanged}`, ofUser('old')),
    ...trigger(`${users.name}_deleted`, `after delete on ${users.table}`, ofUser('old')),
    ...trigger(`${users.name}_replaced`, users.replaced, ofUser('new')),
  ]
}

/** A notification carries no more than this many bytes; one without its row makes the nodes read the log. */
const LONGEST_PAYLOAD = 7_900

function postgresStatements(names: Names): string[] {
  const epoch = 'extract(epoch from now())'
  const isAhead = (column: string, dates: DateEncoding) =>
    ({
      // Of one without a time zone too, which the database would take for local time.
      timestamp: `extract(epoch from ${column}) > ${epoch}`,
      iso: `${column} > to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
      seconds: `${column} > ${epoch}`,
      milliseconds: `${column} > ${epoch} * 1000`,
    })[dates]
  const words: Words = { isAhead, differs: 'is distinct from' }
  const { sessionDeleted, sessionChanged, userChanged } = conditions(names, words)
  const { session, user } = names
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
    // With the rights of its owner: whoever may change a session need not be allowed to write the log. The schema is named, or somebody's
    // temporary table of that name would come first.
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
        if octet_length(payload) > ${LONGEST_PAYLOAD} then payload := ''; end if;
        perform pg_notify('${CHANNEL}', payload);
        return null;
      end $$
      $create$, current_schema()); end $install$`,
    // A trigger calls it without that right; nobody else is to have it write the log.
    'revoke execute on function sallyport_log_revocation() from public',
    trigger('session_deleted', `after delete on ${quote(session.table)} ${row(sessionDeleted)}`, ofSession),
    trigger('session_changed', `after update on ${quote(session.table)} ${row(sessionChanged)}`, ofSession),
    trigger('session_truncated', `after truncate on ${quote(session.table)} for each statement`, []),
    trigger('user_changed', `after update on ${quote(user.table)} ${row(userChanged)}`, ofUser),
    trigger('user_deleted', `after delete on ${quote(user.table)} for each row`, ofUser),
    trigger('user_truncated', `after truncate on ${quote(user.table)} for each statement`, []),
  ]
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
