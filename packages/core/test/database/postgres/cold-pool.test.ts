import { setTimeout as sleep } from 'node:timers/promises'
import { openPostgres } from '@sallyport/core/postgres'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { postgresKind } from '../../support/database-kinds.ts'
import { testPostgres } from '../../support/postgres.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { storeSession } from '../../support/stored-sessions.ts'
import { startProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'

const server = await testPostgres()
const { create } = postgresKind(server)

const database = await create()
await (await database.open()).close()
const ada = await storeSession(database)

const CALLS = 100

test.each([40])(
  'a burst on a cold pool %d ms away has no 503',
  async (delayMs) => {
    const proxy = await startProxy(server.port, { delayMs })
    const url = database.url.replace(`:${server.port}/`, `:${proxy.port}/`)
    // A busy machine must not reach the timeouts: the counts below prove that connections open together.
    const patient = { lookupTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
    const { db, sessions, close } = await openPostgres(url, patient)
    onTestFinished(close)
    // The connections that opened the database must not be in the pool any more.
    await database.rows(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'sallyport'`,
    )
    await until(async () => (await connectionsOf('sallyport')) === 0)
    // The pool must have noticed it.
    await until(async () => proxy.connections <= 2 * (await connectionsOf('sallyport-%')))
    await sleep(delayMs)
    const before = proxy.attempts
    const find = async () => reasonOf(Promise.resolve(sessions.findSession(ada)))
    const write = () => reasonOf(sql`select 1`.execute(db))
    const calls = Array.from({ length: CALLS }, () => [find(), write()]).flat()
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['accepted']))
    expect(proxy.attempts - before).toBeGreaterThanOrEqual(10)
    expect(proxy.mostUnanswered).toBeGreaterThanOrEqual(10)
  },
  60_000,
)

test('finds a session at once after it was opened, since the first lookup connection is ready', async () => {
  const proxy = await startProxy(server.port, { delayMs: 40 })
  const url = database.url.replace(`:${server.port}/`, `:${proxy.port}/`)
  const { sessions, close } = await openPostgres(url, { lookupTimeoutMs: 20_000 })
  onTestFinished(close)
  proxy.hold()
  expect(await sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
})

async function connectionsOf(pattern: string): Promise<number> {
  const rows = await database.rows(
    `select pid from pg_stat_activity where application_name like '${pattern}' and datname = current_database()`,
  )
  return rows.length
}
