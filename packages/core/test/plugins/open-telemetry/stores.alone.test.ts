import { createClient } from '@libsql/client'
import { trace } from '@opentelemetry/api'
import { authenticate, validateSession } from '@sallyport/core'
import { commit, createAuth, issueJwt, revokeSession } from '@sallyport/core/auth'
import { transact } from '@sallyport/core/internal/server'
import { openTelemetry } from '@sallyport/core/plugins/open-telemetry'
import { openPostgres } from '@sallyport/core/postgres'
import { openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth, TEST_PASSWORD } from '@sallyport/core/testing'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { channelOf } from '../../../src/database/schema/internal-tables.ts'
import { collectTelemetry } from '../../support/collect-telemetry.ts'
import { PATIENT, testPostgres } from '../../support/postgres.ts'
import { post } from '../../support/requests.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { until } from '../../support/until.ts'

const server = await testPostgres()
// Its configuration and definition are used with other databases.
const { definition, config, close } = await createTestAuth({ telemetry: openTelemetry() })
afterAll(close)

let databases = 0
const URLS = {
  sqlite: async () => `file:${temporaryDirectory()}/app.db`,
  postgresql: () => server.createDatabase(`telemetry${databases++}`),
}

/** Opens a node of the database at a URL, and closes it at the end of the test. */
async function openNode(url: string) {
  const database = url.startsWith('file:')
    ? await openSqlite(url)
    : await openPostgres(url, { ...PATIENT, poolSize: 2 })
  onTestFinished(database.close)
  return nodeOf(database)
}

async function nodeOf(database: Awaited<ReturnType<typeof openSqlite | typeof openPostgres>>) {
  const { handler, database: observed } = await createAuth(definition, database, { pruneEverySeconds: 0 })
  const { sessions, revocations } = database
  const call = (cookie: string) => {
    const request = { method: 'GET', header: (name: string) => (name === 'cookie' ? cookie : null) }
    return authenticate(request, 'query', { config, sessions })
  }
  return { handler, database: observed, revocations, call }
}

async function signUp({ handler }: Awaited<ReturnType<typeof nodeOf>>) {
  const user = { email: 'ada@example.com', name: 'Ada', password: TEST_PASSWORD }
  const { sessionId, userId } = await (await handler(post('/sign-up/email', user))).json()
  const session = { id: String(sessionId), userId: String(userId), expiresAt: new Date(8.64e15) }
  const { token } = await issueJwt(session, { key: definition.signingKeys.active, config })
  return { key: { sessionId: session.id, userId: session.userId }, cookie: `${config.cookies.jwt}=${token}` }
}

describe.each(['sqlite', 'postgresql'] as const)('%s', (system) => {
  const attributes = { 'db.system.name': system }

  test('the time of each lookup, and the size of each batch', async () => {
    const node = await openNode(await URLS[system]())
    const { cookie } = await signUp(node)
    const { points, units, spans } = collectTelemetry()
    await node.call(cookie)
    for (let round = 0; round < 2; round++) {
      await Promise.all(Array.from({ length: 20 }, () => node.call(cookie)))
      await new Promise(setImmediate)
    }
    const [lookups] = await points('sallyport.lookup.duration')
    expect(lookups).toMatchObject({ attributes, value: 41, sum: expect.any(Number) })
    expect(lookups?.sum).toBeGreaterThan(0)
    const [batches] = await points('sallyport.lookup.batch_size')
    expect(batches).toMatchObject({ attributes, sum: 41 })
    expect(batches?.value).toBeLessThan(41)
    expect(await units()).toMatchObject({
      'sallyport.lookup.duration': 's',
      'sallyport.lookup.batch_size': '{lookup}',
    })
    expect(spans().find(({ name }) => name === 'sallyport.step2')).toMatchObject({
      kind: 'CLIENT',
      attributes,
    })
  })

  test('a lookup under the locks of a transaction', async () => {
    const node = await openNode(await URLS[system]())
    const { cookie, key } = await signUp(node)
    const { db, locks } = node.database
    const { identity } = await node.call(cookie)
    expect(identity).toMatchObject(key)
    const { points, spans } = collectTelemetry()
    await transact(db, identity, { config, locks }, async () => {})
    expect(await points('sallyport.lookup.duration')).toMatchObject([{ attributes, value: 1 }])
    expect(spans()).toMatchObject([{ name: 'sallyport.step2', kind: 'CLIENT', attributes }])
  })
})

test('with libsql, each lookup is a batch', async () => {
  const database = await openSqlite({ client: createClient({ url: `file:${temporaryDirectory()}/app.db` }) })
  onTestFinished(database.close)
  const { points } = collectTelemetry()
  for (const sessionId of ['one', 'two']) {
    const identity = { sessionId, userId: 'ada', version: null, issuer: config.issuer }
    await expect(validateSession(identity, database.sessions, config)).rejects.toThrow()
  }
  const attributes = { 'db.system.name': 'sqlite' }
  expect(await points('sallyport.lookup.batch_size')).toMatchObject([{ attributes, value: 2, sum: 2 }])
})

test('on PostgreSQL, the wait for each connection', async () => {
  const node = await openNode(await URLS.postgresql())
  const { cookie } = await signUp(node)
  const { points, units } = collectTelemetry()
  // From now on, the store knows where to record it.
  await node.call(cookie)
  const read = () => commit(node.database, async (trx) => trx.selectFrom('user').select('id').execute())
  await Promise.all(Array.from({ length: 8 }, read))
  const [waits] = await points('sallyport.pool.wait_time')
  expect(waits).toMatchObject({ attributes: { 'db.system.name': 'postgresql' } })
  expect(waits?.value).toBeGreaterThanOrEqual(8)
  expect(await units()).toMatchObject({ 'sallyport.pool.wait_time': 's' })
})

/** Starts and ends spans as `@opentelemetry/instrumentation-pg` does. */
function traceStatements(): void {
  const { query } = pg.Client.prototype as { query: (...args: unknown[]) => unknown }
  const traced = vi.spyOn(pg.Client.prototype as { query: typeof query }, 'query')
  onTestFinished(() => traced.mockRestore())
  traced.mockImplementation(function (this: unknown, ...args) {
    const statement = args[0] as { name?: string; callback?: (...results: unknown[]) => void }
    const span = trace.getTracer('pg').startSpan(statement.name ?? 'unnamed')
    const { callback } = statement
    if (typeof callback === 'function')
      statement.callback = (...results) => {
        span.end()
        callback(...results)
      }
    const result = query.apply(this, args)
    return result instanceof Promise ? result.finally(() => span.end()) : result
  })
}

/** A pool that the app closes. */
function poolOf(connectionString: string): { readonly pool: pg.Pool } {
  const pool = new pg.Pool({ connectionString })
  onTestFinished(() => pool.end())
  return { pool }
}

test.each([
  ['connections for lookups', (url: string) => openPostgres(url, PATIENT)],
  ['the pool of the app', (url: string) => openPostgres(poolOf(url), PATIENT)],
])(
  'on PostgreSQL, each statement is in the trace of the call that begins its batch: %s',
  async (_name, open) => {
    const database = await open(await URLS.postgresql())
    onTestFinished(database.close)
    const node = await nodeOf(database)
    const { cookie } = await signUp(node)
    const { exported } = collectTelemetry()
    traceStatements()
    const callOften = async () => {
      for (let round = 0; round < 5; round++) await node.call(cookie)
    }
    await Promise.all(Array.from({ length: 8 }, callOften))
    const ofName = (name: string) => exported().filter((span) => span.name.startsWith(name))
    const parents = ofName('sallyport_lookup').map(({ parentSpanContext }) => parentSpanContext?.spanId)
    const calls = ofName('sallyport.step2').map((span) => span.spanContext().spanId)
    expect(parents.length).toBeGreaterThanOrEqual(5)
    expect(new Set(parents).size).toBe(parents.length)
    expect(calls).toEqual(expect.arrayContaining(parents))
  },
)

test('on PostgreSQL, an attempt to reconnect is outside the trace of the call that began the attempts', async () => {
  const url = await URLS.postgresql()
  const { exported } = collectTelemetry()
  const node = await trace.getTracer('http').startActiveSpan('GET', () => openNode(url))
  const { cookie } = await signUp(node)
  await node.call(cookie)
  const { connect } = pg.Client.prototype as { connect: (...args: unknown[]) => unknown }
  const traced = vi.spyOn(pg.Client.prototype as { connect: typeof connect }, 'connect')
  onTestFinished(() => traced.mockRestore())
  traced.mockImplementation(function (this: unknown, ...args) {
    trace.getTracer('pg').startSpan('pg.connect').end()
    return connect.apply(this, args)
  })
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'sallyport-lookup'`.execute(node.database.db)
  const attempts = () => exported().filter(({ name }) => name === 'pg.connect')
  await until(() => attempts().length >= 2)
  expect(attempts().map(({ parentSpanContext }) => parentSpanContext)).toEqual(
    attempts().map(() => undefined),
  )
})

test('on SQLite, the lag of the feed is the time in which it may have missed a commit', async () => {
  const url = await URLS.sqlite()
  const [here, elsewhere] = [await openNode(url), await openNode(url)]
  const { key, cookie } = await signUp(elsewhere)
  const { points, units } = collectTelemetry()
  await here.call(cookie)
  const lags = async () => (await points('sallyport.feed.lag'))[0]
  // The first pass only reads the sessions.
  await new Promise<void>((resolve) => onTestFinished(here.revocations.subscribe(key, resolve)))
  expect(await lags()).toBeUndefined()
  await revokeSession(key.sessionId, elsewhere.database)
  await until(async () => (await lags()) !== undefined)
  const attributes = { 'db.system.name': 'sqlite', 'sallyport.feed.source': 'poll' }
  expect(await lags()).toMatchObject({ attributes })
  expect(await units()).toMatchObject({ 'sallyport.feed.lag': 's' })
})

describe('on PostgreSQL, the lag of the feed', () => {
  async function openFollowed() {
    const url = await URLS.postgresql()
    const node = await openNode(url)
    const { key, cookie } = await signUp(node)
    const client = new pg.Client(url)
    await client.connect()
    onTestFinished(() => client.end())
    const collected = collectTelemetry()
    await node.call(cookie)
    return { client, key, lags: () => collected.points('sallyport.feed.lag') }
  }

  test('is the round trip of a notification to itself, with each test of the delivery', async () => {
    const { client, lags } = await openFollowed()
    // A new connection tests it at once.
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sallyport-listen'`,
    )
    await until(async () => (await lags()).length > 0)
    const attributes = { 'db.system.name': 'postgresql', 'sallyport.feed.source': 'notification' }
    expect(await lags()).toMatchObject([{ attributes }])
  })

  test('is the age of an entry that was read from the log', async () => {
    const { client, key, lags } = await openFollowed()
    const values = [key.sessionId, key.userId]
    const text = 'insert into sallyport.revocation_log ("sessionId", "userId") values ($1, $2)'
    await client.query(text, values)
    // Makes the nodes read the log, as after a statement with many entries.
    await client.query(`select pg_notify('${channelOf('sallyport')}', '')`)
    const attributes = { 'db.system.name': 'postgresql', 'sallyport.feed.source': 'log' }
    const isLogged = async () => JSON.stringify(await lags()).includes('"log"')
    await until(isLogged)
    expect(await lags()).toContainEqual(expect.objectContaining({ attributes, value: 1 }))
  })
})
