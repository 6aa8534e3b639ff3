import type { StoreMapping } from '@sallyport/core/postgres'
import { describe, expect, test } from 'vitest'
import { databaseKinds } from '../support/database-kinds.ts'
import { inHours, literal } from '../support/stored-sessions.ts'
import { until } from '../support/until.ts'

const mapping: StoreMapping = {
  session: {
    table: 'user_sessions',
    columns: {
      userId: 'user_id',
      expiresAt: 'expires_at',
      lastAuthenticatedAt: 'created_at',
      tenantId: 'tenant_id',
    },
  },
  user: { table: 'users', columns: { name: null, email: null, role: null, banned: null, banExpires: null } },
}
const columns = { user: {}, session: { tenantId: { type: 'text' } } } as const

const [ADA, EVE] = ['6f9619ff-8b86-4d01-b42d-00cf4fc964ff', '7f9619ff-8b86-4d01-b42d-00cf4fc964ff'] as const
const [OLD, NEW, PAST, OTHER] = ['1', '2', '3', '4'].map(
  (digit) => `${digit}b0e3ad4-6cd2-4f23-9c3c-9e1cf5d0b1aa`,
) as [string, string, string, string]

describe.each(await databaseKinds())("a user's sessions in the tables of another library, $name", (kind) => {
  async function openStore() {
    const [id, date] = kind.name === 'SQLite' ? ['text', 'text'] : ['uuid', 'timestamptz']
    const database = await kind.create()
    await database.run(`create table users (id ${id} primary key);
      create table user_sessions
        (id ${id} primary key, user_id ${id}, expires_at ${date}, created_at ${date}, tenant_id text);
      insert into users values ('${ADA}'), ('${EVE}')`)
    const at = (hours: number) => literal(inHours(hours).toISOString())
    await database.run(`insert into user_sessions values
      ('${OLD}', '${ADA}', ${at(1)}, ${at(-2)}, 'acme'), ('${NEW}', '${ADA}', ${at(1)}, ${at(-1)}, null),
      ('${PAST}', '${ADA}', ${at(-1)}, ${at(-1)}, null), ('${OTHER}', '${EVE}', ${at(1)}, ${at(-1)}, null)`)
    const store = await database.openStore(mapping, { columns })
    const left = async () =>
      (await database.rows('select id from user_sessions')).map((row) => String(row.id)).sort()
    return { database, store, left }
  }

  test('are listed without the expired ones, the latest first, with added columns', async () => {
    const { store } = await openStore()
    const sessions = await store.listSessions(ADA)
    expect(sessions).toMatchObject([
      { id: NEW, userId: ADA, tenantId: null },
      { id: OLD, userId: ADA, tenantId: 'acme' },
    ])
    expect(sessions[0]).not.toHaveProperty('user')
    expect(await store.listSessions("' or 1 = 1 --")).toEqual([])
  })

  test('end one at a time, and their live streams with them', async () => {
    const { store, left } = await openStore()
    let heard = 0
    const unsubscribe = store.revocations.subscribe({ sessionId: OLD, userId: ADA }, () => heard++)
    expect(await store.revokeSessions(ADA, { sessionId: OLD })).toBe(1)
    await until(() => heard > 0)
    unsubscribe()
    expect(await left()).toEqual([NEW, PAST, OTHER].sort())
    expect(await store.sessions.findSession({ sessionId: OLD, userId: ADA })).toBeNull()
    expect(await store.revokeSessions(ADA, { sessionId: OLD })).toBe(0)
  })

  test('end all at once, or all but one', async () => {
    const { store, left } = await openStore()
    expect(await store.revokeSessions(ADA, { exceptId: NEW })).toBe(2)
    expect(await left()).toEqual([NEW, OTHER].sort())
    expect(await store.revokeSessions(ADA)).toBe(1)
    expect(await left()).toEqual([OTHER])
  })

  test("never end another user's session", async () => {
    const { store, left } = await openStore()
    expect(await store.revokeSessions(ADA, { sessionId: OTHER })).toBe(0)
    expect(await store.revokeSessions(`${ADA}' or true --`)).toBe(0)
    expect(await store.revokeSessions(ADA, { sessionId: "' or true --" })).toBe(0)
    expect(await left()).toHaveLength(4)
  })

  test('have their exact ids if these are larger than the integers of JavaScript', async () => {
    const database = await kind.create()
    const at = literal(inHours(1).toISOString())
    const date = kind.name === 'SQLite' ? 'text' : 'timestamptz'
    await database.run(`create table users (id bigint primary key);
      create table user_sessions
        (id bigint primary key, user_id bigint, expires_at ${date}, created_at ${date}, tenant_id text);
      insert into users values (9007199254740993);
      insert into user_sessions values (9007199254740995, 9007199254740993, ${at}, ${at}, null)`)
    const store = await database.openStore(mapping, { columns })
    const [userId, sessionId] = ['9007199254740993', '9007199254740995']
    expect(await store.listSessions(userId)).toMatchObject([{ id: sessionId, userId }])
    let heard = 0
    const unsubscribe = store.revocations.subscribe({ sessionId, userId }, () => heard++)
    expect(await store.revokeSessions(userId)).toBe(1)
    await until(() => heard > 0)
    unsubscribe()
  })
})
