import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionKey } from '@sallyport/core'
import { openPostgres } from '@sallyport/core/postgres'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type OpenDatabase, postgresKind, type TestDatabase } from '../../support/database-kinds.ts'
import { PATIENT, testPostgres } from '../../support/postgres.ts'
import { literal, storeSession, takeLog } from '../../support/stored-sessions.ts'
import { startProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'

const server = await testPostgres()
const { create } = postgresKind(server)

let database: TestDatabase
let here: OpenDatabase
let there: OpenDatabase
let ada: SessionKey
let bob: SessionKey

beforeAll(async () => {
  database = await create()
  here = await database.open()
  there = await database.open()
  await listeners(2, here, there)
})
beforeEach(async () => {
  ada = await storeSession(database)
  bob = await storeSession(database)
})

/**
 * Waits until this many connections listen, have caught up, and are idle, and these databases deliver.
 * Returns their process ids, the newest last.
 */
async function listeners(count: number, ...databases: OpenDatabase[]): Promise<number[]> {
  let pids: number[] = []
  await until(async () => {
    const found = await database.rows(`select pid from pg_stat_activity
      where application_name = 'sallyport-listen' and state = 'idle' and query like '%revocation_log%'
      and datname = current_database() order by backend_start`)
    pids = found.map(({ pid }) => Number(pid))
    return pids.length === count
  })
  await delivered(...databases)
  return pids
}

function listen({ revocations }: Pick<OpenDatabase, 'revocations'>, key: SessionKey) {
  const listener = vi.fn<() => void>()
  onTestFinished(revocations.subscribe(key, listener))
  return listener
}

const remove = ({ sessionId }: SessionKey) =>
  database.run(`delete from session where id = ${literal(sessionId)}`)
const called = (...fns: (() => void)[]) => until(() => fns.every((fn) => vi.mocked(fn).mock.calls.length > 0))

/** Waits until every earlier notification has arrived: they arrive in commit order. */
async function delivered(...databases: OpenDatabase[]): Promise<void> {
  const last = await storeSession(database)
  const listening = databases.map((opened) => {
    const listener = vi.fn<() => void>()
    return { listener, unsubscribe: opened.revocations.subscribe(last, listener) }
  })
  await remove(last)
  await called(...listening.map(({ listener }) => listener))
  for (const { unsubscribe } of listening) unsubscribe()
}

async function connectByHand(): Promise<pg.Client> {
  const hand = new pg.Client(database.url)
  await hand.connect()
  onTestFinished(() => hand.end())
  return hand
}

describe('a change', () => {
  test('of all sessions at once by truncate reaches every listener', async () => {
    const everyone = [listen(here, ada), listen(there, ada), listen(there, bob)]
    await database.run('truncate session')
    await called(...everyone)
  })

  test('is read from the log once, however often the log is read during an earlier open transaction', async () => {
    const earlier = await connectByHand()
    await earlier.query('begin; select pg_current_xact_id()')
    const listener = listen(there, ada)
    await remove(ada)
    await called(listener)
    // First notified, then read.
    for (let look = 0; look < 3; look++) {
      const reads = spyOnLog()
      await database.run(`notify sallyport_revocation, 'look'`)
      await until(() => reads() >= 2)
      await delivered(here, there)
    }
    expect(listener.mock.calls.length).toBeLessThanOrEqual(2)
    await earlier.query('commit')
  })

  test('raises the revision before any listener is called', async () => {
    const before = there.revocations.revision
    const revision = new Promise<number>((resolve) => {
      onTestFinished(there.revocations.subscribe(ada, () => resolve(there.revocations.revision)))
    })
    await remove(ada)
    expect(await revision).toBeGreaterThan(before)
  })

  test('made by this process calls the listeners as soon as it is published', () => {
    const listener = listen(here, ada)
    here.revocations.publish(ada)
    expect(listener).toHaveBeenCalledOnce()
  })

  test('of a session whose id is too long for a notification still reaches the listeners', async () => {
    const long = await storeSession(database, { userId: `${'é'.repeat(1_200)}`, id: `${'\\'.repeat(2_600)}` })
    const longer = await storeSession(database, { userId: `${'x'.repeat(8_100)}` })
    const listening = [listen(there, long), listen(here, longer)]
    await remove(long)
    await remove(longer)
    await called(...listening)
  })
})

test('a statement that ends 10,000 sessions reaches every node completely and in order, by one notification', async () => {
  const ended: number[] = []
  for (let n = 0; n < 10_000; n++)
    onTestFinished(
      there.revocations.subscribe({ sessionId: `many-${n}`, userId: ada.userId }, () => ended.push(n)),
    )
  await database.run(`
    insert into session select (json_populate_record(session, json_build_object('id', 'many-' || n, 'token', n))).*
      from session, generate_series(0, 9999) n where session.id = ${literal(ada.sessionId)}`)
  const hand = await connectByHand()
  const payloads: (string | undefined)[] = []
  hand.on('notification', ({ payload }) => payloads.push(payload))
  await hand.query('listen sallyport_revocation')
  await database.run(`delete from session where id like 'many-%'`)
  await until(() => ended.length >= 10_000)
  const logged = await database.rows(
    `select "sessionId" as id from sallyport.revocation_log where "sessionId" like 'many-%' order by seq`,
  )
  await hand.query('select 1')
  expect(ended.map((n) => `many-${n}`)).toEqual(logged.map(({ id }) => id))
  expect(new Set(ended).size).toBe(10_000)
  expect(payloads.filter((payload) => !payload?.startsWith('sallyport-delivery'))).toEqual([''])
})

describe('a notification from another program', () => {
  test.each([
    ['nothing', ''],
    ['invalid JSON', 'x'],
    ['truncated JSON', '["1",'],
    ['null', 'null'],
    ['a number', '5'],
    ['text', '"look"'],
    ['an object', '{"0":"1"}'],
    ['too few items', '["1"]'],
    ['too many items', '["1","a","b","c"]'],
    ['numbers', '[1,2,3]'],
    ['a nested list', '[["1"],null,null]'],
    ['7,999 bytes', `${'['.repeat(7_999)}`],
  ])('with %s costs one read of the log, and the next change still arrives', async (_name, payload) => {
    const reads = spyOnLog()
    const pids = await listeners(2)
    const listener = listen(there, ada)
    // Both read the log now, so neither polls it soon.
    await database.run(`notify sallyport_revocation, 'look'`)
    await until(() => reads() >= 2)
    await delivered(here, there)
    const before = reads()
    await database.run(`notify sallyport_revocation, ${literal(payload)}`)
    await delivered(here, there)
    await remove(ada)
    await called(listener)
    // One read for each of the two listeners.
    await until(() => reads() >= before + 2)
    expect(reads()).toBe(before + 2)
    expect(await listeners(2)).toEqual(pids)
  })
})

/** Returns how often the log is read. */
function spyOnLog(): () => number {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => query.mockRestore())
  return () =>
    query.mock.calls.filter(([statement]) => textOf(statement).includes(`from "sallyport"."revocation_log"`))
      .length
}

function textOf(statement: unknown): string {
  const { text } = statement as { text?: string }
  return text ?? ''
}

describe('a disconnected listener', () => {
  /** Opens the database through a proxy, and listens. */
  async function openThroughProxy() {
    const proxy = await startProxy(server.port)
    const opened = await openPostgres(database.url.replace(`:${server.port}/`, `:${proxy.port}/`), PATIENT)
    onTestFinished(opened.close)
    const pid = (await listeners(3, opened)).at(-1)
    return { proxy, opened, cutOff: () => database.rows(`select pg_terminate_backend(${pid}, 5000)`) }
  }

  test('catches up on the changes it missed', async () => {
    const { proxy, opened, cutOff } = await openThroughProxy()
    const listening = [ada, bob].map((key) => listen(opened, key))
    const other = listen(opened, await storeSession(database))
    proxy.hold()
    await cutOff()
    await remove(ada)
    await database.run(`update "user" set banned = true where id = ${literal(bob.userId)}`)
    await delivered(there)
    for (const listener of listening) expect(listener).not.toHaveBeenCalled()
    proxy.release()
    await called(...listening)
    await listeners(3)
    for (const listener of listening) expect(listener).toHaveBeenCalledOnce()
    expect(other).not.toHaveBeenCalled()
  })

  test("doesn't publish changes from before it started", async () => {
    const before = await storeSession(database)
    await remove(before)
    const { opened, cutOff } = await openThroughProxy()
    const listener = listen(opened, before)
    await cutOff()
    await listeners(3, opened)
    expect(listener).not.toHaveBeenCalled()
  })

  test('publishes a transaction that was numbered early and committed late', async () => {
    const { proxy, opened, cutOff } = await openThroughProxy()
    const listening = { early: listen(opened, ada), late: listen(opened, bob) }
    const late = await connectByHand()
    // Numbered first, committed last.
    await late.query('begin')
    await late.query('delete from session where id = $1', [bob.sessionId])
    await remove(ada)
    await called(listening.early)
    // Reconnecting reads the log while the transaction is open, and starts after it.
    await cutOff()
    const pids = await listeners(3)
    expect(listening.late).not.toHaveBeenCalled()
    proxy.hold()
    await database.rows(`select pg_terminate_backend(${pids.at(-1)}, 5000)`)
    await late.query('commit')
    await delivered(there)
    expect(listening.late).not.toHaveBeenCalled()
    proxy.release()
    await called(listening.late)
  })

  test('is replaced if the server no longer responds', async () => {
    const { proxy, opened } = await openThroughProxy()
    const listener = listen(opened, ada)
    proxy.cut()
    await remove(ada)
    await called(listener)
  })
})

describe('a server that accepts the listener but rejects a statement', () => {
  /** Counts the connections of a node while the server rejects a statement of its listener. */
  async function attemptsIn(ms: number, rejected: string): Promise<number> {
    const proxy = await startProxy(server.port)
    const { query } = pg.Client.prototype
    const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
      this: pg.Client,
      ...args: unknown[]
    ) {
      const [statement] = args
      if (textOf(statement).includes(rejected)) return Promise.reject(new Error('rejected'))
      return Reflect.apply(query, this, args)
    })
    onTestFinished(() => spy.mockRestore())
    const opened = await openPostgres(database.url.replace(`:${server.port}/`, `:${proxy.port}/`), PATIENT)
    onTestFinished(opened.close)
    const before = proxy.attempts
    await sleep(ms)
    return proxy.attempts - before
  }

  test.each([
    ['to start listening', 'listen "sallyport'],
    ['to read the log', 'from "sallyport"."revocation_log"'],
  ])('gets few retries: %s', async (_name, rejected) => {
    // Pauses that grow to half a second allow about five attempts. The lookups connect twice.
    expect(await attemptsIn(1_500, rejected)).toBeLessThan(10)
  })
})

test('a change made before the listener connects still arrives', async () => {
  const proxy = await startProxy(server.port)
  const opening = openPostgres(database.url.replace(`:${server.port}/`, `:${proxy.port}/`), PATIENT)
  await until(() => proxy.attempts >= 1)
  const opened = await opening
  onTestFinished(opened.close)
  proxy.hold()
  proxy.cut()
  const listener = listen(opened, ada)
  await remove(ada)
  await delivered(there)
  proxy.release()
  await called(listener)
})

test('publishes 20,000 missed entries over many turns', async () => {
  const proxy = await startProxy(server.port)
  const opened = await openPostgres(database.url.replace(`:${server.port}/`, `:${proxy.port}/`), PATIENT)
  onTestFinished(opened.close)
  await listeners(3, opened)
  const listening = listen(opened, ada)
  proxy.hold()
  proxy.cut()
  // Only in the log: no trigger notifies about these.
  await database.run(
    `insert into sallyport.revocation_log ("sessionId", "userId") select n::text, 'missing' from generate_series(1, 19999) n`,
  )
  await database.run(
    `insert into sallyport.revocation_log ("sessionId", "userId") values (${literal(ada.sessionId)}, ${literal(ada.userId)})`,
  )
  const before = opened.revocations.revision
  let most = 0
  proxy.release()
  for (let revision = before; revision < before + 20_000; ) {
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, opened.revocations.revision - revision)
    revision = opened.revocations.revision
  }
  await called(listening)
  await takeLog(database)
  expect(most).toBeLessThanOrEqual(5_000)
})

test("a forged notification doesn't hide the change with its number", async () => {
  const listener = listen(there, ada)
  const [{ next } = {}] = await database.rows(`select (coalesce(max(seq), 0) + 1)::text as next from (
    select last_value as seq from sallyport.revocation_log_seq_seq) s`)
  const made = [0, 1, 2].map((more) => `notify sallyport_revocation, '["${Number(next) + more}","x","y"]'`)
  await database.run(made.join(';'))
  await remove(ada)
  await called(listener)
})

test('publishes nothing and keeps no connection after it is closed', async () => {
  const closed = await openPostgres(database.url, PATIENT)
  await listeners(3, closed)
  const listener = listen(closed, ada)
  await closed.close()
  await remove(ada)
  await delivered(there)
  expect(listener).not.toHaveBeenCalled()
  await listeners(2)
})

test('closes only after the current read of the log', async () => {
  const closed = await openPostgres(database.url, PATIENT)
  const ofClosed = (await listeners(3, closed)).at(-1)
  const locker = await connectByHand()
  onTestFinished(() => locker.end())
  await locker.query('begin; lock table sallyport.revocation_log in access exclusive mode')
  const waiting = () =>
    database.rows(`select pid from pg_stat_activity where pid = ${ofClosed} and wait_event_type = 'Lock'`)
  // An invalid entry triggers a read of the log.
  await database.run("notify sallyport_revocation, 'no entry'")
  await until(async () => (await waiting()).length === 1)
  const isRead = closed.close().then(waiting)
  await locker.query('rollback')
  expect(await isRead).toEqual([])
  await listeners(2)
})

test('leaves no connection if it is closed while it connects', async () => {
  const proxy = await startProxy(server.port)
  const closed = await openPostgres(database.url.replace(`:${server.port}/`, `:${proxy.port}/`), PATIENT)
  const pids = await listeners(3, closed)
  const before = proxy.attempts
  proxy.hold()
  await database.rows(`select pg_terminate_backend(${pids.at(-1)}, 5000)`)
  // Only the listener is missing.
  await until(() => proxy.attempts > before)
  await closed.close()
  await until(() => proxy.connections === 1)
  proxy.release()
  await until(() => proxy.connections === 0)
})

afterAll(() => takeLog(database))
