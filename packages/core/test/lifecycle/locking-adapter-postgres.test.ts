import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { lockingAdapter } from '../../src/lifecycle/locking-adapter.ts'
import { startPostgresAuth } from '../support/postgres-auth.ts'

const auth = await startPostgresAuth()
const { database, db } = auth

/** What a hand may have written into a row. */
const rows: [what: string, table: 'session' | 'user', changes: string][] = [
  ['as we write it', 'session', `"ipAddress" = null`],
  ['with an expiry that never comes', 'session', `"expiresAt" = 'infinity'`],
  ['with an expiry before all times', 'session', `"expiresAt" = '-infinity'`],
  ['with a sign-in at no time', 'session', `"lastAuthenticatedAt" = 'infinity'`],
  ['with a sign-in before all times', 'session', `"lastAuthenticatedAt" = '-infinity'`],
  ['with microseconds', 'session', `"lastAuthenticatedAt" = '2026-01-02 03:04:05.678901+00'`],
  ['with a ban', 'user', `banned = true, "banReason" = 'spam', "banExpires" = '2026-01-02 03:04:05.678+00'`],
  ['with a ban for ever', 'user', `banned = true, "banExpires" = 'infinity'`],
]

test.each(rows)('a session %s is under the locks what it is without', async (_what, table, changes) => {
  const { userId } = await auth.createUser()
  const { sessionId } = await auth.signIn(userId)
  const [key, id] = [{ sessionId, userId }, table === 'user' ? userId : sessionId]
  await sql`update ${sql.table(table)} set ${sql.raw(changes)} where id = ${id}`.execute(db)
  const found = await database.sessions.findSession(key)
  const locked = await db.transaction().execute(async (trx) => lockingAdapter(trx).findSession(key))
  expect(locked).toEqual(found)
})
