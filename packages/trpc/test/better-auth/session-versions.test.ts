import { betterAuth } from 'better-auth'
import { drizzleAdapter } from 'better-auth/adapters/drizzle'
import Database from 'better-sqlite3'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { expect, test } from 'vitest'
import { mayReuseIds } from '../../src/better-auth/session-versions.ts'
import { COLUMNS, createApp } from './app.ts'
import { ORIGIN, SECRET } from './create-auth.ts'
import { createSqlite, sqliteTables } from './drizzle-tables.ts'
import { openStorage } from './open-storage.ts'

test.each([
  ['sqlite', 'serial', true],
  ['sqlite', false, true],
  ['sqlite', (): false => false, true],
  ['sqlite', (): string => 'an id', false],
  ['pg', 'serial', false],
  ['mysql', 'serial', false],
] as const)('%s with generateId %s may use an id again: %s', async (provider, generateId, expected) => {
  const auth = betterAuth({
    baseURL: ORIGIN,
    secret: SECRET,
    database: drizzleAdapter({}, { provider, schema: {} }),
    advanced: { database: { generateId } },
  })
  expect(mayReuseIds(await auth.$context)).toBe(expected)
})

test('the version is that of the row, whose dates may be whole seconds, not of the copy in a storage', async () => {
  const tables = sqliteTables((name) => name, 'timestamp', 'serial')
  const client = new Database(':memory:')
  client.exec(createSqlite(tables))
  const db = drizzle({ client })
  const storage = openStorage()
  const options = {
    ...COLUMNS,
    database: drizzleAdapter(db, { provider: 'sqlite', schema: tables }),
    advanced: { database: { generateId: 'serial' } },
    session: { storeSessionInDatabase: true },
    secondaryStorage: storage,
  } as const
  const [app, other] = [createApp(options, { db }), createApp(options, { db })]
  const { cookie, headers } = await app.signUp()
  const signedIn = await app.auth.api.getSession({ headers })
  expect(await app.call(cookie)).toMatchObject({ user: { name: 'Ada' } })
  client.exec('delete from session')
  const { cookie: next } = await app.signIn()
  expect(client.prepare('select id from session').all()).toEqual([{ id: 1 }])
  // The storage still has the deleted session.
  expect(storage.values.get(signedIn?.session.token ?? '')).toBeDefined()
  expect(await other.call(cookie)).toBe('SESSION_NOT_FOUND')
  expect(await other.call(next)).toMatchObject({ user: { name: 'Ada' } })
})
