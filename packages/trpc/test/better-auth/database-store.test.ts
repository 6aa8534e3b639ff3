import { renameSync } from 'node:fs'
import { join } from 'node:path'
import type { AuthFailure } from '@sallyport/core'
import { drizzleAdapter } from 'better-auth/adapters/drizzle'
import { getMigrations } from 'better-auth/db/migration'
import Database from 'better-sqlite3'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { Kysely, SqliteDialect } from 'kysely'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { testPostgres } from '../../../core/test/support/postgres.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { COLUMNS, createApp } from './app.ts'
import { createPostgres, createSqlite, postgresTables, sqliteTables } from './drizzle-tables.ts'
import { createPool, SCENES } from './scenes.ts'

const postgres = await testPostgres()

/** Better Auth 1.7.0 has no `schemaName`, and can't write dates that a Drizzle schema declares as strings. */
const isOld = process.env.BETTER_AUTH_VERSION === '1.7.0'
/** `pnpm test:better-auth` sets the variable. */
const isLong = process.env.BETTER_AUTH_REVOCATIONS !== undefined
/** PGlite takes seconds to start. The others combine what the rest of the scenes cover. */
const ONLY_LONG = /PGlite|sqlite3, with numeric ids|ids of type|^better-sqlite3$|^a Pool of pg$/
const scenes = SCENES.filter(
  ({ name }) => (!isOld || !/postgres\.js|in a schema/.test(name)) && (isLong || !ONLY_LONG.test(name)),
)

test.each(scenes)(
  'reads the tables of $name as Better Auth does, until a session is deleted',
  async ({ open }) => {
    const warn = vi.spyOn(console, 'warn')
    onTestFinished(() => warn.mockRestore())
    const {
      options,
      db,
      run,
      sessions = 'session',
      transacts = false,
      ...guardOptions
    } = await open(postgres)
    const { auth, call, signUp, signIn, openStream, beforeWriting } = createApp(
      { ...COLUMNS, ...options },
      { db, ...guardOptions },
    )
    const { cookie, headers } = await signUp()
    await auth.api.createOrganization({ headers, body: { name: 'Ada Ltd.', slug: 'ada' } })

    const found = await auth.api.getSession({ headers })
    // Two invitations that were accepted at once. The table has no constraint.
    const member = { userId: found?.user.id, organizationId: found?.session.activeOrganizationId }
    const { adapter } = await auth.$context
    await adapter.create({ model: 'member', data: { ...member, role: 'owner', createdAt: new Date() } })
    const { token, ...session } = found?.session ?? {}
    expect(await call(cookie)).toMatchObject({
      session: { ...session, activeOrganizationRole: 'owner' },
      user: { ...found?.user, birthday: new Date('1985-03-04'), tags: ['a', 'b "c"'] },
    })
    const seen = JSON.stringify(await call(cookie))
    for (const secret of [token, 'hidden']) expect(seen).not.toContain(secret)
    expect(warn).not.toHaveBeenCalled()

    expect(await call(cookie, 'write')).toBe(transacts ? 'written' : 'INTERNAL_SERVER_ERROR')
    const where = [{ field: 'id', value: found?.user.id ?? '' }]
    const setBanned = (banned: boolean) => adapter.update({ model: 'user', where, update: { banned } })
    beforeWriting(async () => {
      await setBanned(true)
      await run(`delete from ${sessions}`)
    })
    const outcome = await call(cookie, 'write')
    if (transacts) expect(outcome).toBe('ACCOUNT_BANNED')
    expect(await call(cookie)).toBe('ACCOUNT_BANNED')
    await setBanned(false)
    expect(await call(cookie)).toBe('SESSION_NOT_FOUND')

    const second = await signIn()
    // A database may use the number of a deleted row again.
    expect(await call(cookie)).toMatch(/^(SESSION_NOT_FOUND|TOKEN_INVALID)$/)
    const { ended } = await openStream(second.cookie)
    await auth.api.signOut({ headers: second.headers })
    expect(await ended).toBe('SESSION_NOT_FOUND')
    expect(await call(second.cookie)).toBe('SESSION_NOT_FOUND')

    const third = await signIn()
    const stream = await openStream(third.cookie)
    await run(`delete from ${sessions}`)
    expect(await stream.ended).toBe('SESSION_NOT_FOUND')

    const fourth = await signIn()
    await setBanned(true)
    expect(await call(fourth.cookie)).toBe('ACCOUNT_BANNED')
  },
)

test.each(['the client', "Better Auth's adapter"])(
  'ctx.transaction rejects a new session that has the id of the deleted one, with %s',
  async (reader) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const client = new Database(':memory:')
    const db = new Kysely({ dialect: new SqliteDialect({ database: client }) })
    const advanced = { database: { generateId: 'serial' } } as const
    const options = { ...COLUMNS, database: { db, type: 'sqlite' }, advanced } as const
    await (await getMigrations(options)).runMigrations()
    const { call, signUp, signIn, beforeWriting } = createApp(options, {
      db,
      ...(reader === 'the client' && { client }),
    })
    const { cookie } = await signUp()
    expect(await call(cookie, 'write')).toBe('written')
    beforeWriting(async () => {
      client.exec('delete from session')
      await signIn()
      expect(client.prepare('select id from session').all()).toEqual([{ id: 1 }])
    })
    expect(await call(cookie, 'write')).toBe('TOKEN_INVALID')
  },
)

test("ctx.transaction compares UUIDs, with Drizzle on a client that guards can't find", async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const client = new Client({ connectionString: await postgres.createDatabase('client') })
  await client.connect()
  onTestFinished(() => client.end())
  const tables = postgresTables('uuid')
  await client.query(createPostgres(tables))
  const db = drizzlePg({ client })
  const database = drizzleAdapter(db, { provider: 'pg', schema: tables, usePlural: true })
  const advanced = { database: { generateId: 'uuid' } } as const
  const { call, signUp } = createApp({ ...COLUMNS, database, advanced }, { db })
  const { cookie } = await signUp()
  expect(await call(cookie, 'write')).toBe('written')
})

test('a file that was removed is reported, and that it is back', async () => {
  const path = join(temporaryDirectory(), 'app.db')
  const database = new Database(path)
  const options = { ...COLUMNS, database }
  await (await getMigrations(options)).runMigrations()
  const onFailure = vi.fn<(failure: AuthFailure) => void>()
  await createApp(options, { db: database, onFailure }).signUp()
  const soon = (times: number) => vi.waitFor(() => expect(onFailure).toHaveBeenCalledTimes(times), 30_000)
  renameSync(path, `${path}.old`)
  await soon(1)
  renameSync(`${path}.old`, path)
  await soon(2)
  const place = { code: 'DATABASE_FILE_REPLACED', path: 'file' }
  expect(onFailure.mock.calls).toMatchObject([
    [{ ...place, recovered: false }],
    [{ ...place, recovered: true }],
  ])
})

/** Signs up, and returns what a call receives, with the warnings and errors that were printed. */
async function callOnce({ options, db }: { options: object; db: object }) {
  const print = (level: 'warn' | 'error') => vi.spyOn(console, level).mockImplementation(() => {})
  const [warn, error] = [print('warn'), print('error')]
  onTestFinished(() => void vi.restoreAllMocks())
  const { call, signUp } = createApp({ ...COLUMNS, ...options }, { db })
  const { cookie } = await signUp()
  const outcome = await call(cookie)
  return { outcome, warnings: warn.mock.calls.flat().join(), errors: error.mock.calls.flat().join() }
}

function drizzleTables(changes: object = {}) {
  const client = new Database(':memory:')
  const tables = sqliteTables((name) => name, 'timestamp')
  client.exec(createSqlite(tables))
  const db = drizzle({ client })
  const database = drizzleAdapter(db, { provider: 'sqlite', schema: { ...tables, ...changes } })
  return { options: { database }, db, client }
}

test('sessions whose dates are stored in another unit are 503, not 401', async () => {
  const { options, db, client } = drizzleTables()
  client.exec(`create trigger later after insert on session begin
    update session set expiresAt = expiresAt * 1000 where id = new.id; end`)
  const { outcome, errors } = await callOnce({ options, db })
  expect(outcome).toBe('SESSIONS_UNAVAILABLE')
  expect(errors).toContain('mapping: expiresAt is read as')
})

test('columns that store dates in different ways are read with the adapter', async () => {
  const { user } = sqliteTables((name) => name, 'timestamp_ms')
  const { outcome, warnings } = await callOnce(drizzleTables({ user }))
  expect(outcome).toMatchObject({ user: { birthday: new Date('1985-03-04'), points: 7 } })
  expect(warnings).toContain('session.expiresAt and user.createdAt store dates in different ways')
})

test('a column that the app decodes is read with the adapter', async () => {
  const points = { type: 'number', required: false, transform: { output: (value: number) => -value } }
  const user = { additionalFields: { ...COLUMNS.user.additionalFields, points } }
  const { options, db } = drizzleTables()
  const { outcome, warnings } = await callOnce({ options: { ...options, user }, db })
  expect(outcome).toMatchObject({ user: { points: -7 } })
  expect(warnings).toContain('user.points has a transform')
})

describe.each(['Europe/Berlin', 'UTC'])('the package pg in the time zone %s', (zone) => {
  const name = zone.replace('/', '_').toLowerCase()
  beforeEach(() => void vi.stubEnv('TZ', zone))
  afterEach(() => void vi.unstubAllEnvs())

  async function open(type: 'timestamp' | 'timestamptz') {
    const database = createPool(await postgres.createDatabase(`${type}_${name}`))
    await (await getMigrations({ ...COLUMNS, database })).runMigrations()
    await database.query(`alter table session alter "expiresAt" type ${type}`)
    return { options: { database }, db: database }
  }

  test('columns with a time zone are read', async () => {
    const { outcome } = await callOnce(await open('timestamptz'))
    const { session } = outcome as { session: { expiresAt: Date } }
    const hours = (session.expiresAt.getTime() - Date.now()) / 3_600_000
    expect(hours).toBeCloseTo(7 * 24, 1)
  })

  test('a column without one is 503 outside UTC, because it contains local time', async () => {
    const { outcome, errors } = await callOnce(await open('timestamp'))
    if (zone === 'UTC') return expect(outcome).toMatchObject({ user: { name: 'Ada' } })
    expect(outcome).toBe('SESSIONS_UNAVAILABLE')
    expect(errors).toContain('A date column has no time zone')
  })
})

test.each([
  ['our statement', {}],
  ['the adapter', { transform: { output: () => 'high' } }],
])("fields of the app that are named like a session's own members decide nothing: %s", async (_, acr) => {
  const optional = { required: false, input: false } as const
  const options = {
    ...COLUMNS,
    database: new Database(':memory:'),
    session: {
      additionalFields: {
        issuer: { type: 'string', ...optional, defaultValue: 'https://idp.example.com' },
        version: { type: 'number', ...optional, defaultValue: 7 },
        rotatedAt: { type: 'date', ...optional, defaultValue: () => new Date() },
        amr: { type: 'string', ...optional, defaultValue: '{"otp":1}' },
        acr: { type: 'string', ...optional, defaultValue: 'high', ...acr },
        ban: { type: 'string', ...optional, defaultValue: 'none' },
        user: { type: 'string', ...optional, defaultValue: 'Ada' },
      },
    },
  } as const
  await (await getMigrations(options)).runMigrations()
  const { outcome } = await callOnce({ options, db: options.database })
  expect(outcome).toMatchObject({
    session: { issuer: 'http://localhost:3000', version: null, rotatedAt: null, amr: null, acr: 'high' },
    user: { email: 'ada@example.com' },
  })
})
