import { copyFileSync, mkdirSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createClient } from '@libsql/client'
import type { AuthFailure, FailureCode } from '@sallyport/core'
import { type Auth, createAuth, defineEndpoint } from '@sallyport/core/auth'
import { openPostgres, type PostgresOptions } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import * as z from 'zod/mini'
import { PATIENT, testPostgres } from '../support/postgres.ts'
import { get, post } from '../support/requests.ts'
import { startProxy } from '../support/tcp-proxy.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

type Readiness = Awaited<ReturnType<Auth['readiness']>>

const directory = temporaryDirectory()
const server = await testPostgres()
const app = await createTestAuth()
afterAll(() => app.close())
const OK: Readiness = { read: 'ok', write: 'ok', feed: 'ok', keys: 'ok', clock: 'ok' }

/** Writes more than fits into the pages that a database has. */
const write = defineEndpoint({
  method: 'POST',
  path: '/write',
  caller: 'anyone',
  input: z.object({}),
  output: z.object({}),
  async run(_input, { change, config }) {
    await change(async (trx, record) => {
      const by = { actorId: null, userId: null, at: config.now() }
      record({ ...by, type: 'test:write', detail: { text: 'x'.repeat(100_000) } })
      await trx.updateTable('user').set({ name: 'Ada' }).execute()
    })
    return { body: {} }
  },
})

/** Reads two tables without a transaction. */
const read = defineEndpoint({
  method: 'GET',
  path: '/read',
  caller: 'anyone',
  input: z.object({}),
  output: z.object({}),
  async run(_input, { database: { db } }) {
    await sql`select 1 from "user" join account on account."userId" = "user".id`.execute(db)
    return { body: {} }
  },
})

/** Creates an auth server on a database, and returns what it reports. */
async function serve(database: Parameters<typeof createAuth>[1]) {
  const failures: AuthFailure[] = []
  const onFailure = (failure: AuthFailure) => void failures.push(failure)
  const config = { ...app.config, onFailure, lookupTimeoutMs: 30_000 }
  const definition = { ...app.definition, config, plugins: [{ id: 'test', endpoints: { write, read } }] }
  const auth = await createAuth(definition, database, { pruneEverySeconds: 0 })
  onTestFinished(() => auth.close())
  return { auth, failures }
}

/** Fails the write of an endpoint, and expects the code in the report and in the readiness. */
async function expectFailure(
  { auth, failures }: Awaited<ReturnType<typeof serve>>,
  { code, parts }: { code: FailureCode; parts: Partial<Readiness> },
): Promise<void> {
  // Both at once, because both may wait for a timeout.
  const [response, readiness] = await Promise.all([auth.handler(post('/write', {})), auth.readiness()])
  expect([response.status, await response.json()]).toMatchObject([503, { code: 'SESSIONS_UNAVAILABLE' }])
  const failure = { code, reason: 'SESSIONS_UNAVAILABLE', step: 'endpoint', cause: expect.any(Error) }
  expect(failures.filter(({ path }) => path === '/write')).toMatchObject([failure])
  expect(readiness).toEqual({ ...OK, ...parts })
}

const works = async (auth: Pick<Auth, 'handler'>) => (await auth.handler(post('/write', {}))).status === 200

describe('SQLite', () => {
  async function open({ withLibsql = false }: { withLibsql?: boolean | undefined } = {}) {
    const path = `${directory}/${crypto.randomUUID()}.db`
    const url = `file:${path}`
    const database = await openSqlite(withLibsql ? { client: createClient({ url }) } : url, {
      busyTimeoutMs: 20,
    })
    onTestFinished(database.close)
    const run = (statement: string) => sql.raw(statement).execute(database.db)
    return { path, database, run }
  }

  test('works at first, and a check is shared for a second', async () => {
    const { auth, failures } = await serve((await open()).database)
    expect(await auth.readiness()).toEqual(OK)
    expect(auth.readiness()).toBe(auth.readiness())
    expect(await works(auth)).toBe(true)
    expect(failures).toEqual([])
  })

  test('a read-only database, which is reported at the start too', async () => {
    const { database, run } = await open()
    await run('pragma query_only = on')
    const served = await serve(database)
    const opening = { code: 'DATABASE_READ_ONLY', path: 'open', step: 'background' }
    expect(served.failures).toMatchObject([opening])
    await expectFailure(served, { code: 'DATABASE_READ_ONLY', parts: { write: 'DATABASE_READ_ONLY' } })
    expect((await served.auth.handler(get('/jwks'))).status).toBe(200)
  })

  test.each([false, true])('a full disk, with libsql: %j', async (withLibsql) => {
    const { database, run } = await open({ withLibsql })
    await run('pragma journal_mode = wal')
    const served = await serve(database)
    const settings = async () => [
      (await run('pragma cache_size')).rows,
      (await run('pragma cache_spill')).rows,
    ]
    const before = await settings()
    await run('pragma max_page_count = 1')
    await expectFailure(served, { code: 'DATABASE_FULL', parts: { write: 'DATABASE_FULL' } })
    expect(await settings()).toEqual(before)
  })

  test('the check writes to the disk, which may be full, and changes nothing', async () => {
    const { path, database, run } = await open()
    const { auth } = await serve(database)
    await run('pragma wal_checkpoint(truncate)')
    const cache = async () => [await run('pragma cache_size'), await run('pragma cache_spill')]
    const before = await cache()
    expect(statSync(`${path}-wal`).size).toBe(0)
    expect(await auth.readiness()).toEqual(OK)
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(50_000)
    expect(await cache()).toEqual(before)
    expect(await database.db.selectFrom('sallyport.audit').selectAll().execute()).toEqual([])
  })

  test('without WAL, the check writes nothing into the file, which would lock out its readers', async () => {
    const path = `${directory}/journal.db`
    new Database(path).exec('pragma user_version = 1').close()
    const client = new Database(path)
    const database = await openSqlite({ client })
    onTestFinished(database.close)
    const { auth } = await serve(database)
    expect(client.pragma('journal_mode', { simple: true })).toBe('delete')
    const { mtimeNs } = statSync(path, { bigint: true })
    expect(await auth.readiness()).toEqual(OK)
    expect(statSync(path, { bigint: true }).mtimeNs).toBe(mtimeNs)
  })

  test('a column that a migration of the app has renamed', async () => {
    const { database, run } = await open()
    const { auth, failures } = await serve(database)
    await run('alter table user rename column banned to is_banned')
    expect(await auth.readiness()).toEqual({ ...OK, read: 'DATABASE_UNAVAILABLE' })
    expect(failures).toMatchObject([{ code: 'DATABASE_UNAVAILABLE', path: 'readiness' }])
  })

  test('a lock', async () => {
    const { path, database } = await open()
    const served = await serve(database)
    const other = new Database(path)
    onTestFinished(() => void other.close())
    other.exec('begin immediate')
    await expectFailure(served, { code: 'DATABASE_LOCKED', parts: { write: 'DATABASE_LOCKED' } })
    other.exec('rollback')
    expect(await works(served.auth)).toBe(true)
  })

  test('a file that was removed or replaced, also with libsql', async () => {
    const cases = [{ how: 'removed' }, { how: 'replaced' }, { how: 'removed', withLibsql: true }]
    // At once, because each waits for the next check of its file.
    await Promise.all(
      cases.map(async ({ how, withLibsql }) => {
        const { path, database } = await open({ withLibsql })
        const { auth, failures } = await serve(database)
        renameSync(path, `${path}.old`)
        if (how === 'replaced') copyFileSync(`${path}.old`, path)
        const code = 'DATABASE_FILE_REPLACED'
        // Within a second, if nothing asks for the readiness.
        await until(() => failures.some(({ path }) => path === 'file'))
        expect(failures).toMatchObject([{ code, step: 'background' }])
        expect(await auth.readiness()).toEqual({ ...OK, read: code, write: code })
        expect(failures).toMatchObject([{}, { code, path: 'readiness', suppressed: 0 }])
        renameSync(`${path}.old`, path)
        await until(() => failures.some(({ path, recovered }) => path === 'file' && recovered))
      }),
    )
  })

  test("a folder that can't be read is not a failure: what is open still works", async () => {
    const folder = join(directory, 'moved')
    mkdirSync(folder)
    const database = await openSqlite(join(folder, 'app.db'))
    onTestFinished(database.close)
    const { auth, failures } = await serve(database)
    renameSync(folder, `${folder}.old`)
    // As without the rights: the file can't be found, nor is it known to be gone.
    symlinkSync(folder, folder)
    expect(await auth.readiness()).toEqual(OK)
    expect(failures).toEqual([])
  })

  test('another working directory is not a failure', async () => {
    const database = await openSqlite(relative('.', join(directory, 'relative.db')))
    onTestFinished(database.close)
    const { auth } = await serve(database)
    const before = process.cwd()
    onTestFinished(() => process.chdir(before))
    process.chdir(directory)
    expect(await auth.readiness()).toEqual(OK)
  })
})

describe('PostgreSQL', () => {
  async function open(options?: PostgresOptions) {
    const url = await server.createDatabase(`app_${crypto.randomUUID().replaceAll('-', '')}`)
    const proxy = await startProxy(server.port)
    const database = await openPostgres(url.replace(`:${server.port}/`, `:${proxy.port}/`), {
      ...PATIENT,
      ...options,
    })
    onTestFinished(database.close)
    const client = new pg.Client(url)
    await client.connect()
    onTestFinished(() => client.end())
    return { database, proxy, client }
  }

  test('a row lock', async () => {
    const { database, client } = await open({ statementTimeoutMs: 1_500 })
    const served = await serve(database)
    await client.query('begin; lock table "user", sallyport.audit in exclusive mode')
    await expectFailure(served, { code: 'DATABASE_TIMEOUT', parts: { write: 'DATABASE_TIMEOUT' } })
    await client.query('rollback')
    expect(await works(served.auth)).toBe(true)
  })

  test('checks that wait for a lock hold one connection', async () => {
    const { database, client } = await open({ statementTimeoutMs: 30_000 })
    const { auth } = await serve(database)
    await client.query('begin; lock table sallyport.audit')
    const waiting = async () => (await client.query('select from pg_locks where not granted')).rowCount
    const first = auth.readiness()
    await until(async () => (await waiting()) === 1)
    await setTimeout(1_000)
    const second = auth.readiness()
    expect(second).not.toBe(first)
    await setTimeout(200)
    expect(await waiting()).toBe(1)
    await client.query('rollback')
    expect(await Promise.all([first, second])).toEqual([OK, OK])
  })

  test('a deadlock with a migration of the app, outside a transaction', async () => {
    const { database, client } = await open()
    const { auth, failures } = await serve(database)
    // The server then aborts the read, unless it has waited for a second before that.
    await client.query("set deadlock_timeout = '10s'; begin; lock table account")
    const locked = client.query(`do $$ begin
      while not exists (select from pg_locks where not granted) loop perform pg_sleep(0.001); end loop;
      lock table "user";
    end $$; rollback`)
    const response = await auth.handler(get('/read'))
    await locked
    expect([response.status, await response.json()]).toMatchObject([503, { code: 'SESSIONS_UNAVAILABLE' }])
    expect(failures).toMatchObject([{ code: 'DATABASE_LOCKED', path: '/read' }])
  })

  test('an exhausted pool', async () => {
    const { database } = await open({ poolSize: 1, connectTimeoutMs: 1_000, statementTimeoutMs: 1_000 })
    const served = await serve(database)
    const { promise, resolve } = Promise.withResolvers<void>()
    onTestFinished(() => resolve())
    const held = database.db.connection().execute(() => promise)
    const code = 'POOL_EXHAUSTED'
    await expectFailure(served, { code, parts: { write: code, clock: code } })
    resolve()
    await held
    expect(await works(served.auth)).toBe(true)
  })

  test('an exhausted pool of the app', async () => {
    const pool = new pg.Pool({ connectionString: await server.createDatabase('app_pool'), max: 3 })
    onTestFinished(() => pool.end())
    const database = await openPostgres({ pool }, { statementTimeoutMs: 500 })
    onTestFinished(database.close)
    const { auth, failures } = await serve(database)
    // The third one listens.
    const held = [await pool.connect(), await pool.connect()]
    expect((await auth.handler(post('/write', {}))).status).toBe(503)
    const ofWrite = failures.filter(({ path }) => path === '/write')
    expect(ofWrite).toMatchObject([{ code: 'POOL_EXHAUSTED' }])
    for (const client of held) client.release()
    await until(() => works(auth))
  })

  test('a database that is down from the start says nothing about the keys', async () => {
    const failures: AuthFailure[] = []
    const onFailure = (failure: AuthFailure) => void failures.push(failure)
    const config = { ...app.config, onFailure, lookupTimeoutMs: 30_000 }
    const definition = { ...app.definition, config }
    const auth = createAuth(definition, () => openPostgres('postgres://127.0.0.1:1/app'))
    onTestFinished(() => auth.close())
    const down = 'DATABASE_UNAVAILABLE'
    expect(await auth.readiness()).toEqual({ read: down, write: down, feed: down, keys: 'ok', clock: down })
    expect(failures.map(({ code, path }) => [code, path])).toEqual([
      [down, 'open'],
      [down, 'readiness'],
    ])
    // They are in no response.
    expect(failures.map(({ reason }) => reason)).toEqual([null, null])
  })

  test('a dead feed, which recovers', async () => {
    const { database, proxy } = await open()
    const { auth, failures } = await serve(database)
    proxy.reject()
    proxy.cut()
    await until(() => failures.some(({ code }) => code === 'FEED_DOWN'))
    expect((await auth.readiness()).feed).toBe('FEED_DOWN')
    proxy.release()
    await until(() => failures.some(({ recovered }) => recovered))
    const place = { code: 'FEED_DOWN', path: 'feed', step: 'background' }
    expect(failures.filter(({ path }) => path === 'feed')).toMatchObject([
      { ...place, cause: expect.any(Error), recovered: false },
      { ...place, cause: null, recovered: true },
    ])
  })
})
