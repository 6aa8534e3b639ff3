import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { ConfigurationError } from '@sallyport/core'
import { openSqlite, openSqliteStore } from '@sallyport/core/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { betterAuthSql, betterAuthTables, hostApp } from '../support/host-tables.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const directory = temporaryDirectory()
const mapping = betterAuthTables('SQLite').mapping ?? {}

/** Writes of the app, and as many of the limits. With two copies of SQLite, 3 of 1,334 were stored. */
const WRITES = process.env.DATABASES === 'all' ? 1_334 : 200
const LIMIT = { points: WRITES, duration: 3600 }

/** Opens a file as an app on Drizzle or Prisma with libsql does. */
async function openLibsqlApp(name: string) {
  const path = join(directory, name)
  const client = createClient({ url: `file:${path}` })
  onTestFinished(() => client.close())
  await client.executeMultiple(betterAuthSql('SQLite'))
  await client.execute('create table attempt (id integer primary key, at text not null)')
  await client.execute('create index attempt_at on attempt (at)')
  const run = (sql: string) => client.executeMultiple(sql)
  const rows = async (sql: string) => (await client.execute(sql)).rows
  return { path, client, rows, run, host: hostApp({ run }, betterAuthTables('SQLite')) }
}

test.each([
  { opening: 'openSqlite', open: (path: string) => openSqlite(path, { migrate: false }) },
  { opening: 'openSqliteStore', open: (path: string) => openSqliteStore(path, { mapping }) },
])(
  '$opening rejects the URL of a file that libsql has open in this process, and names the fix',
  async ({ opening, open }) => {
    const { path, host } = await openLibsqlApp(`${opening}.db`)
    await host.runAll()
    const error: unknown = await open(path).then(
      ({ close }) => close(),
      (cause) => cause,
    )
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(String(error)).toMatch(/libsql/)
    expect(String(error)).toMatch(/\{ client \}/)
    // The app is unharmed.
    await host.runAll()
    expect(host.failed).toEqual([])
  },
)

test(`with the client of the app, ${WRITES} rate limits and as many writes of the app are all stored`, async () => {
  const { client, rows, run, host } = await openLibsqlApp('client.db')
  const store = await openSqliteStore({ client }, { mapping })
  onTestFinished(store.close)
  const { limits } = store
  if (limits === undefined) throw new TypeError('A store has limits')

  let left = WRITES
  const failed: unknown[] = []
  async function work(): Promise<void> {
    while (left-- > 0) {
      const results = await Promise.allSettled([
        limits?.consume('ada', LIMIT),
        run(`insert into attempt (at) values ('${new Date().toISOString()}')`),
      ])
      for (const result of results) if (result.status === 'rejected') failed.push(result.reason)
      if (left % 100 === 0) await host.runAll()
    }
  }
  await Promise.all(Array.from({ length: 8 }, work))

  expect(failed).toEqual([])
  expect(host.failed).toEqual([])
  expect(await rows('select count(*) as n from attempt')).toMatchObject([{ n: WRITES }])
  // All points were counted, and the next one is too many.
  expect(await limits.consume('ada', LIMIT)).toBeGreaterThan(0)
  expect(await rows('pragma integrity_check')).toMatchObject([{ integrity_check: 'ok' }])
})
