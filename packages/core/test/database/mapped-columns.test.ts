import { ConfigurationError, validateSession } from '@sallyport/core'
import type { AddedColumns } from '@sallyport/core/auth'
import type { StoreMapping } from '@sallyport/core/postgres'
import { describe, expect, test } from 'vitest'
import { databaseKinds } from '../support/database-kinds.ts'
import { reasonOf } from '../support/reason-of.ts'
import { inHours, literal, OURS } from '../support/stored-sessions.ts'

const kinds = await databaseKinds()
const key = { sessionId: 's', userId: 'u', ...OURS }

const MAPPING = {
  session: {
    table: 'user_sessions',
    columns: {
      userId: 'user_id',
      expiresAt: 'expires_at',
      lastAuthenticatedAt: null,
      tenantId: 'tenant_id',
      seenAt: 'seen_at',
    },
  },
  user: { table: 'users', columns: { role: null, banned: null, banExpires: null, isAdult: 'is_adult' } },
} satisfies StoreMapping

const COLUMNS = {
  session: { tenantId: { type: 'text' }, seenAt: { type: 'timestamp' } },
  user: { isAdult: { type: 'flag' }, credits: { type: 'number' } },
} satisfies AddedColumns

describe.each(kinds)('$name', (kind) => {
  const isSqlite = kind.name === 'SQLite'
  const [date, bigint] = isSqlite ? ['text', 'integer'] : ['timestamptz', 'bigint']
  const seenAt = new Date('2026-01-02T03:04:05.000Z').toISOString()

  async function createTables(expiresAt = literal(inHours(1).toISOString())) {
    const database = await kind.create()
    await database.run(`
      create table users (id text primary key, name text, email text, is_adult boolean, credits ${bigint});
      create table user_sessions (id text primary key, user_id text, expires_at ${date}, tenant_id text, seen_at ${date});
      insert into users values ('u', 'Ada', 'ada@example.com', true, 7), ('v', 'Eve', null, null, null);
      insert into user_sessions values ('s', 'u', ${expiresAt}, 'acme', ${literal(seenAt)}), ('t', 'v', ${expiresAt}, null, null)`)
    return database
  }

  test('a store on mapped tables reads added columns by their mapped names', async () => {
    const { sessions } = await (await createTables()).openStore(MAPPING, { columns: COLUMNS })
    const session = await validateSession(key, sessions)
    expect(session).toMatchObject({ tenantId: 'acme', seenAt, user: { isAdult: true, credits: 7 } })
    expect(session).toMatchObject({ id: 's', user: { id: 'u', name: 'Ada' } })
    expect(await sessions.findSession({ sessionId: 't', userId: 'v' })).toMatchObject({
      tenantId: null,
      seenAt: null,
      user: { isAdult: null, credits: null },
    })
  })

  const { credits, ...others } = COLUMNS.user
  test.each([
    [
      'is missing in the table',
      { columns: { ...COLUMNS, user: { ...COLUMNS.user, shoe: credits } } },
      'shoe',
    ],
    ['is named but not declared', { columns: { ...COLUMNS, session: {}, user: others } }, 'tenantId'],
  ])('a store on mapped tables rejects an added column that %s', async (_name, options, column) => {
    const opening = (await createTables()).openStore(MAPPING, options)
    await expect(opening).rejects.toThrow(ConfigurationError)
    await expect(opening).rejects.toThrow(column)
  })

  test('a store rejects a session without an end, unless the mapping says that it is endless', async () => {
    const database = await createTables('null')
    await expect(database.openStore(MAPPING, { columns: COLUMNS })).rejects.toThrow('nullExpiresAt')
    const mapping = { ...MAPPING, session: { ...MAPPING.session, nullExpiresAt: 'endless' } } as const
    const { sessions } = await database.openStore(mapping, { columns: COLUMNS })
    expect(await reasonOf(validateSession(key, sessions))).toBe('accepted')
    const session = await sessions.findSession(key)
    expect(session?.expiresAt).toEqual(new Date('9999-12-31T23:59:59.999Z'))
    await database.run(`update user_sessions set expires_at = ${literal(inHours(-1).toISOString())}`)
    expect(await reasonOf(validateSession(key, sessions))).toBe('SESSION_EXPIRED')
  })

  // Otherwise every call would be 503.
  test.each([
    ['a role of another type', 'role is read as', { user: { role: 'is_adult' } }],
    [
      'a version of another type',
      isSqlite ? 'version is read as' : 'COALESCE',
      { session: { version: 'seen_at' } },
    ],
  ])('a store rejects %s', async (_name, message, columns: { user?: object; session?: object }) => {
    const { session, user } = MAPPING
    const mapping = {
      session: { ...session, columns: { ...session.columns, ...columns.session } },
      user: { ...user, columns: { ...user.columns, ...columns.user } },
    }
    const opening = (await createTables()).openStore(mapping, { columns: COLUMNS })
    await expect(opening).rejects.toThrow(`mapping: ${message}`)
  })
})
