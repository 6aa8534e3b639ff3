import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openPostgresStore } from '@sallyport/core/postgres'
import { Client, Pool } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { pgPoolDriver } from '../../../../src/database/postgres/drivers/pg-driver.ts'
import { postgresKind } from '../../../support/database-kinds.ts'
import { eventually } from '../../../support/eventually.ts'
import { PATIENT, testPostgres } from '../../../support/postgres.ts'

const { create } = postgresKind(await testPostgres())

test("the app's pool ends without waiting for the connection that listens", async () => {
  const database = await create()
  await (await database.open()).close()
  const pool = new Pool({ connectionString: database.url })
  const store = await openPostgresStore({ pool }, { ...PATIENT, mapping: {} })
  onTestFinished(store.close)
  await eventually(() => expect(pool.idleCount).toBeLessThan(pool.totalCount))
  await pool.end()
  expect(pool.totalCount).toBe(0)
})

test("the app's pool ends while the connection that listens is opening", async () => {
  const database = await create()
  await (await database.open()).close()
  const pool = new Pool({
    connectionString: database.url,
    application_name: 'app',
    idleTimeoutMillis: 1,
  })
  const store = await openPostgresStore({ pool }, { ...PATIENT, mapping: {} })
  onTestFinished(store.close)
  // Only the connection that listens is left.
  await eventually(() => expect([pool.totalCount, pool.idleCount]).toEqual([1, 0]))

  const [opening, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const connect = pool.connect.bind(pool)
  vi.spyOn(pool, 'connect').mockImplementation(async () => {
    const client = await connect()
    opening.resolve()
    await opened.promise
    return client
  })
  await database.run("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'app'")
  await opening.promise
  const ended = pool.end()
  opened.resolve()
  await ended
  expect(pool.totalCount).toBe(0)
})

/** As in Neon's driver, which doesn't tell whether a transaction is open. */
class SilentClient extends Client {
  override getTransactionStatus = undefined as never
}

test.each([
  ['reports it', Client],
  ["doesn't report it", SilentClient],
])('a connection whose transaction was abandoned is closed, if the driver %s', async (_, Client) => {
  const { url } = await create()
  const pool = new Pool({ connectionString: url, Client })
  onTestFinished(() => pool.end())
  const driver = pgPoolDriver(pool)
  const text = 'select pg_backend_pid() as pid'
  const run = async (...before: string[]) => {
    const { query, release } = await driver.connect()
    for (const text of before) await query({ text, values: [] })
    const { rows } = await query<{ pid: number }>({ text, values: [] })
    release()
    return rows[0]?.pid
  }
  const first = await run()
  expect(await run('begin', 'rollback')).toBe(first)
  expect(await run('begin')).toBe(first)
  expect(await run()).not.toBe(first)
})

test('a process that opened a URL exits without closing the database, once its statements have ended', async () => {
  const { url } = await create()
  const program = `
    import { openPostgres } from '@sallyport/core/postgres'
    const { db, sessions } = await openPostgres(process.argv[1])
    await sessions.findSession({ sessionId: 'one', userId: 'ada' })
    await db.selectFrom('user').selectAll().execute()
    process.exitCode = 7`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program, url], {
    cwd: import.meta.dirname,
    stdio: 'inherit',
  })
  onTestFinished(() => void child.kill())
  expect(await once(child, 'exit')).toEqual([7, null])
})
