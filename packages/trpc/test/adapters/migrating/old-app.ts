import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** The old app's database, in a separate file. */
export const file: string = join(mkdtempSync(join(tmpdir(), 'sallyport-migrating-')), 'old.db')
export const oldDatabase: DatabaseSync = new DatabaseSync(file)
oldDatabase.exec(`
  create table users (id text primary key, name text not null, email text not null);
  create table sessions (id text primary key, user_id text not null, secret text not null, expires_at integer not null);
  insert into users values ('u1', 'Ada', 'ada@example.com');
`)

/** Signs Ada in, as the old app does. */
export function signIn(): { id: string; cookie: string } {
  const [id, secret] = [crypto.randomUUID(), crypto.randomUUID()]
  const expiresAt = Date.now() + 86_400_000
  oldDatabase.prepare('insert into sessions values (?, ?, ?, ?)').run(id, 'u1', secret, expiresAt)
  return { id, cookie: `token=${secret}` }
}

/** Simulates an unreachable database. */
export const outage = { isOn: false }

interface OldSession {
  readonly sessionId: string
  readonly userId: string
  readonly name: string
}

/** Returns the session with this token. */
export function findKey(token: string): OldSession | null {
  if (outage.isOn) throw new Error('The database is away')
  const row = oldDatabase
    .prepare('select s.*, u.name from sessions s join users u on u.id = s.user_id where secret = ?')
    .get(token)
  if (row === undefined) return null
  return { sessionId: String(row.id), userId: String(row.user_id), name: String(row.name) }
}

export const findSession = (headers: Headers): OldSession | null =>
  findKey(/(?:^|; )token=([^;]+)/.exec(headers.get('cookie') ?? '')?.[1] ?? '')
