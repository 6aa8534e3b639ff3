import { type InternalNames, internalTable } from './internal-tables.ts'
import { namesOf, quote } from './mapping.ts'

/** SQLite keeps the text of a trigger from its name on. */
export const CREATE = 'create trigger if not exists '

/**
 * Returns the triggers on our own tables of sessions and users by name. Only files that we migrate have them:
 * a trigger of SQLite can't catch errors, so it would fail every write to another library's table if the log
 * was dropped.
 */
export function sqliteTriggers(internal: InternalNames): Readonly<Record<string, string>> {
  const { session, user } = namesOf('sqlite')
  const { id, userId, expiresAt, version, issuer } = session.columns
  const { role, banned, banExpires } = user.columns
  const log = internalTable(internal, 'revocation_log')
  const [sessions, users] = [quote(session.table), quote(user.table)]
  const now = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`
  const changed = (columns: readonly (string | null)[]) =>
    columns
      .filter((column) => column !== null)
      .map((column) => `new.${quote(column)} is not old.${quote(column)}`)
      .join(' or ')
  const [key, owner, expiry] = [quote(id), quote(userId), quote(expiresAt)]
  const trigger = (name: string, when: string, values: string): [string, string] => [
    `sallyport_${name}`,
    `${CREATE}${quote(`sallyport_${name}`)} ${when} begin
      insert into ${log} (sessionId, userId) ${values};
    end`,
  ]
  // `replace into` deletes a row without firing its delete trigger.
  const replaced = (table: string) =>
    `before insert on ${table} when exists (select 1 from ${table} where ${key} = new.${key})`
  const ofSession = `values (old.${key}, old.${owner})`
  const ofUser = `values (null, old.${quote(user.columns.id)})`
  return Object.fromEntries([
    trigger(
      'session_deleted',
      `after delete on ${sessions} when coalesce(old.${expiry} > ${now}, true)`,
      ofSession,
    ),
    trigger(
      'session_changed',
      `after update on ${sessions} when not coalesce(new.${expiry} >= old.${expiry}, false)
      or ${changed([id, userId, version, issuer])}`,
      ofSession,
    ),
    trigger(
      'session_replaced',
      replaced(sessions),
      `select ${key}, ${owner} from ${sessions} where ${key} = new.${key}`,
    ),
    trigger(
      'user_changed',
      `after update on ${users} when ${changed([user.columns.id, role, banned, banExpires])}`,
      ofUser,
    ),
    trigger('user_deleted', `after delete on ${users}`, ofUser),
    trigger('user_replaced', replaced(users), `values (null, new.${key})`),
  ])
}
