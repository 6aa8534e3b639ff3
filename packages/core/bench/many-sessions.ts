/** Fills databases with many sessions: creating them by sign-ins would take hours. */
import type { SessionKey } from '@sallyport/core'
import Database from 'better-sqlite3'
import type pg from 'pg'
import { sessionSql } from '../src/database/find-session-sql.ts'

export const SESSIONS_PER_USER = 10
const ROWS_AT_ONCE = 100_000
const ID_PREFIX = '00000000-0000-7000-8000-'

/** Returns the ids of a session that `fillSqlite` and `fillPostgres` create. */
export function keyOf(index: number): SessionKey {
  const user = Math.floor(index / SESSIONS_PER_USER)
  const hex = (value: number) => value.toString(16).padStart(12, '0')
  return { sessionId: `${ID_PREFIX}${hex(index)}`, userId: `${ID_PREFIX}${hex(user)}` }
}

/** Fills migrated tables without waiting for the disk, because the file is deleted afterwards. */
export function fillSqlite(path: string, count: number): void {
  const writer = new Database(path)
  writer.pragma('synchronous = OFF')
  writer.pragma('cache_size = -400000')
  const id = `'${ID_PREFIX}' || printf('%012x', `
  const [now, later] = [0, 86_400_000].map((ms) => new Date(Date.now() + ms).toISOString())
  const numbers = `with recursive numbers(i) as (select ? union all select i + 1 from numbers where i + 1 < ?)`
  const stamps = `'${now}', '${now}'`
  const users = writer.prepare(
    `${numbers} insert into user (id, name, email, createdAt, updatedAt)
      select ${id}i), 'Ada', printf('%012x', i) || '@example.com', ${stamps} from numbers`,
  )
  const sessions = writer.prepare(
    `${numbers} insert into session (id, token, userId, expiresAt, lastAuthenticatedAt, lastSeenAt, createdAt, updatedAt)
      select ${id}i), 'sha256:' || printf('%064x', i), ${id}i / ${SESSIONS_PER_USER}), '${later}', ${stamps}, ${stamps} from numbers`,
  )
  for (const range of rangesOf(Math.ceil(count / SESSIONS_PER_USER))) users.run(...range)
  for (const range of rangesOf(count)) sessions.run(...range)
  writer.close()
}

/** Fills migrated tables. */
export async function fillPostgres(client: pg.Client, count: number): Promise<void> {
  const id = (number: string) => `'${ID_PREFIX}' || lpad(to_hex(${number}), 12, '0')`
  const numbers = `from generate_series($1::int, $2::int - 1) as numbers(i)`
  for (const range of rangesOf(Math.ceil(count / SESSIONS_PER_USER)))
    await client.query(
      `insert into "user" (id, name, email, "createdAt", "updatedAt")
        select ${id('i')}, 'Ada', i || '@example.com', now(), now() ${numbers}`,
      range,
    )
  for (const range of rangesOf(count))
    await client.query(
      `insert into session (id, token, "userId", "expiresAt", "lastAuthenticatedAt", "lastSeenAt", "createdAt", "updatedAt")
        select ${id('i')}, 'sha256:' || lpad(to_hex(i), 64, '0'), ${id(`i / ${SESSIONS_PER_USER}`)},
          now() + interval '1 day', now(), now(), now(), now() ${numbers}`,
      range,
    )
  await client.query('vacuum analyze')
}

/** The first number of each transaction, and the first of the next one. */
function rangesOf(count: number): [from: number, to: number][] {
  const ranges: [number, number][] = []
  for (let from = 0; from < count; from += ROWS_AT_ONCE)
    ranges.push([from, Math.min(from + ROWS_AT_ONCE, count)])
  return ranges
}

/** The lookup of one session in PostgreSQL. `findSession` batches many. */
export function postgresLookup(): string {
  const { session, user } = sessionSql('postgres')
  return `select ${session.columns}, ${user.columns}
    from ${session.table} s join ${user.table} u on u.${user.id} = s.${session.userId}
    where s.${session.id} = $1 and s.${session.userId} = $2`
}

/** Looks up sessions with one statement each. */
export function bareLookup(connection: pg.Client | pg.Pool): (key: SessionKey) => Promise<unknown> {
  const text = postgresLookup()
  return async ({ sessionId, userId }) => {
    const values = [sessionId, userId]
    const { rows } = await connection.query({ name: 'lookup', text, values, rowMode: 'array' })
    return rows[0]
  }
}
