import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openPostgresStore } from '@sallyport/core/postgres'
import { Pool } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
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
