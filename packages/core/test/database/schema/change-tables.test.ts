import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigurationError } from '@sallyport/core'
import type { AuthPlugin } from '@sallyport/core/auth'
import { openPostgres, type PostgresOptions } from '@sallyport/core/postgres'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { lockSettings } from '../../../src/database/schema/change-tables.ts'
import { migratePlugins } from '../../../src/database/schema/prepare-tables.ts'
import { closeLater, postgresKind, type TestDatabase } from '../../support/database-kinds.ts'
import { PATIENT, testPostgres } from '../../support/postgres.ts'
import { storeSession } from '../../support/stored-sessions.ts'
import { until } from '../../support/until.ts'

const kind = postgresKind(await testPostgres(), { poolSize: 2 })

/** Two attempts. */
const OPTIONS = { ...PATIENT, statementTimeoutMs: 2_000 }
/** Many attempts. */
const PERSISTENT = { ...PATIENT, statementTimeoutMs: 60_000 }
const columns = { user: { locale: { type: 'text' } }, session: {} } as const

const shapes: AuthPlugin = {
  id: 'shapes',
  migrations: {
    '0001_shape': (schema) => schema.alterTable('session').addColumn('shape', 'text').execute(),
  },
}

/** Opens a transaction that has read both tables, as `pg_dump` does. Returns what ends it. */
async function readInTransaction({ url }: TestDatabase): Promise<() => Promise<void>> {
  const reader = new pg.Client(url)
  await reader.connect()
  onTestFinished(() => reader.end())
  await reader.query('begin; select from "user", session')
  return async () => void (await reader.query('commit'))
}

/** Returns how many statements wait for a lock. */
const waiting = async ({ rows }: TestDatabase) =>
  (await rows(`select from pg_locks where not granted and locktype = 'relation'`)).length

const CHANGES = [
  [
    'a start with a new column',
    async ({ url }, options) => closeLater(await openPostgres(url, { ...options, columns })),
  ],
  [
    'a plugin that changes a table',
    async ({ url }, options) => migratePlugins([shapes], closeLater(await openPostgres(url, options))),
  ],
] satisfies [string, (database: TestDatabase, options: PostgresOptions) => Promise<unknown>][]

describe.each(CHANGES)('%s, while a transaction has read the tables', (_name, change) => {
  async function setUp() {
    const database = await kind.create()
    const { sessions } = await database.open()
    const key = await storeSession(database)
    const end = await readInTransaction(database)
    return { database, find: () => sessions.findSession(key), end }
  }

  test('gives up with the statement that finds it, and lookups go on', async () => {
    const { database, find } = await setUp()
    let isOver = false
    const changing = change(database, OPTIONS).finally(() => {
      isOver = true
    })
    changing.catch(() => {})
    while (!isOver) {
      expect(await find()).not.toBeNull()
      await sleep(10)
    }
    await expect(changing).rejects.toThrow(ConfigurationError)
    await expect(changing).rejects.toThrow('from pg_stat_activity')
  })

  test('succeeds if that ends between two attempts', async () => {
    const { database, end } = await setUp()
    const changing = change(database, PERSISTENT)
    await until(async () => (await waiting(database)) > 0)
    await until(async () => (await waiting(database)) === 0)
    await end()
    await changing
  })
})

/** Opens a connection, and a transaction with this statement. */
async function beginWith({ url }: TestDatabase, statement: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`begin; ${statement}`)
  return client
}

async function createTables(): Promise<TestDatabase> {
  const database = await kind.create()
  await (await database.open()).close()
  return database
}

test('with new columns in both tables, a change that waits for one table locks nobody out of the other', async () => {
  const database = await createTables()
  const writer = await beginWith(database, 'update session set remembered = true')
  const both = { ...columns, session: { theme: { type: 'text' } } } as const
  const opening = openPostgres(database.url, { ...PERSISTENT, columns: both })
  opening.catch(() => {})
  await until(async () => (await waiting(database)) > 0)
  await writer.query(`set local lock_timeout = 100; update "user" set name = 'Ada'; commit`)
  closeLater(await opening)
})

test('missing triggers are created while a transaction has written to our own tables', async () => {
  const database = await createTables()
  await database.run('alter table session disable trigger user')
  await beginWith(
    database,
    'lock table sallyport.audit, sallyport.rate_limit, sallyport.revocation_log in row exclusive mode',
  )
  closeLater(await openPostgres(database.url, OPTIONS))
  const enabled = `select from pg_trigger where tgenabled = 'O' and tgrelid = 'session'::regclass and not tgisinternal`
  expect(await database.rows(enabled)).not.toEqual([])
})

test('a change is attempted again after a deadlock', async () => {
  const database = await createTables()
  let attempts = 0
  const unlucky: AuthPlugin = {
    id: 'unlucky',
    migrations: {
      async '0001_unlucky'() {
        if (++attempts === 1) throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
      },
    },
  }
  await migratePlugins([unlucky], closeLater(await openPostgres(database.url, OPTIONS)))
  expect(attempts).toBe(2)
})

test.each([
  [undefined, undefined],
  [500, 1],
  [5_000, 5],
  [60 * 60 * 1000, 60],
])('with a statement timeout of %s ms, a change is attempted %s times', (timeoutMs, lockAttempts) => {
  expect(lockSettings(timeoutMs).lockAttempts).toBe(lockAttempts)
})

describe('with a lock_timeout of the role', () => {
  async function createTablesOfRole(lockTimeout: string) {
    const database = await createTables()
    await database.run(
      `alter database ${new URL(database.url).pathname.slice(1)} set lock_timeout = '${lockTimeout}'`,
    )
    return database
  }

  test('a change waits no longer than statements of the app, which wait for the change', async () => {
    const database = await createTablesOfRole('300ms')
    const reader = await beginWith(database, 'select from "user"')
    const opening = openPostgres(database.url, { ...PERSISTENT, columns })
    opening.catch(() => {})
    const app = await beginWith(database, 'commit')
    for (let waited = 0; waited < 3; waited++) {
      await until(async () => (await waiting(database)) > 0)
      // On a busy machine, the change may give up late.
      await sleep(100)
      await app.query(`update "user" set name = 'Ada'`)
    }
    await reader.query('commit')
    closeLater(await opening)
  })

  test('a process still waits for another that changes tables', async () => {
    const database = await createTablesOfRole('1ms')
    const other = await beginWith(database, 'select pg_advisory_xact_lock(7255301)')
    const opening = openPostgres(database.url, { ...PERSISTENT, columns })
    opening.catch(() => {})
    // Longer than an attempt may wait for a table, whatever the role's limit is.
    const longWaits = `select from pg_locks where locktype = 'advisory'
      and waitstart < clock_timestamp() - interval '600 ms'`
    await until(async () => (await database.rows(longWaits)).length > 0)
    await other.query('commit')
    closeLater(await opening)
  })
})
