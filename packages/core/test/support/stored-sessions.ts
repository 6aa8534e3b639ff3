import { randomUUID } from 'node:crypto'
import type { ProvedSession } from '@sallyport/core'
import type { TestAuth } from '@sallyport/core/testing'
import { sql } from 'kysely'
import type { TestDatabase } from './database-kinds.ts'

const HOUR_MS = 60 * 60 * 1000

/** Returns the time that many hours from now. Negative hours are in the past. */
export const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS)

/** Returns a string as an SQL literal. */
export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

/** Stores a user with a session in the library's own tables. */
export async function storeSession(
  { run }: Pick<TestDatabase, 'run'>,
  {
    id = randomUUID(),
    userId = randomUUID(),
    expiresAt = inHours(1),
  }: { id?: string; userId?: string; expiresAt?: Date } = {},
): Promise<ProvedSession> {
  const at = literal(new Date().toISOString())
  const user = literal(userId)
  await run(`
    insert into "user" (id, name, email, "createdAt", "updatedAt")
      values (${user}, 'Ada', ${literal(`${userId}@example.com`)}, ${at}, ${at}) on conflict do nothing;
    insert into session (id, token, "userId", "expiresAt", "lastAuthenticatedAt", "lastSeenAt", "createdAt", "updatedAt")
      values (${literal(id)}, ${literal(`sha256:${id}`)}, ${user}, ${literal(expiresAt.toISOString())}, ${at}, ${at}, ${at}, ${at})`)
  return { sessionId: id, userId, ...OURS }
}

/** Stores older copies of a session in SQLite, from `copy-0001`, the oldest, to `copy-<count>`. */
export async function copySession(
  { db }: Pick<TestAuth, 'db'>,
  sessionId: string,
  count: number,
): Promise<void> {
  await sql`
    with recursive copies(i) as (select 1 union all select i + 1 from copies where i < ${count})
    insert into session (id, token, "userId", "expiresAt", "lastAuthenticatedAt", "lastSeenAt", "createdAt", "updatedAt")
      select printf('copy-%04d', i), 'sha256:' || i, "userId", "expiresAt", "lastAuthenticatedAt", "lastSeenAt",
        printf('2000-01-01T00:00:%02d.%03dZ', i / 1000, i % 1000), "updatedAt"
      from session, copies where id = ${sessionId}`.execute(db)
}

/** The claims of a stored session's JWT, other than its user and session. */
export const OURS = { version: 1, issuer: 'http://localhost:3000' } as const

/** Returns the entries of the log in order, and deletes them. */
export async function takeLog({ rows, run, internal }: TestDatabase): Promise<(string | null)[][]> {
  const log = internal('revocation_log')
  const entries = await rows(`select "sessionId", "userId" from ${log} order by seq`)
  await run(`delete from ${log}`)
  return entries.map(({ sessionId, userId }) => [asText(sessionId), asText(userId)])
}

const asText = (value: unknown) => (value === null ? null : String(value))
