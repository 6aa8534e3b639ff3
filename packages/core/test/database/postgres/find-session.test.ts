import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAuthError, isReady, type SessionKey } from '@sallyport/core'
import { openPostgres, type PostgresOptions } from '@sallyport/core/postgres'
import { createTestAuth } from '@sallyport/core/testing'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { failureCode } from '../../../src/events/failure-code.ts'
import { postgresKind } from '../../support/database-kinds.ts'
import { startPostgres } from '../../support/embedded-postgres.ts'
import { PATIENT, PATIENT_SESSION, testPostgres } from '../../support/postgres.ts'
import { reasonOf } from '../../support/reason-of.ts'
import { literal, storeSession } from '../../support/stored-sessions.ts'
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { until } from '../../support/until.ts'

const server = await testPostgres()
const { create } = postgresKind(server)
const { config, close } = await createTestAuth({ session: PATIENT_SESSION })
afterAll(close)

const database = await create()
// Creates the tables, and leaves no open lookup connections.
await (await openPostgres(database.url, PATIENT)).close()
let ada: SessionKey
let bob: SessionKey
beforeEach(async () => {
  ada = await storeSession(database)
  bob = await storeSession(database)
})

/** The open database, and the statements that its lookups have sent since, each as its session ids. */
interface Opened {
  readonly proxy: TcpProxy
  readonly find: (key: SessionKey) => Promise<string | null>
  readonly opened: Awaited<ReturnType<typeof openPostgres>>
  readonly sent: () => string[][]
}

async function open(options?: PostgresOptions, url = database.url, port = server.port): Promise<Opened> {
  const proxy = await startProxy(port)
  if (port === server.port) await until(async () => (await lookupPids()).length === 0)
  const query = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => query.mockRestore())
  const opened = await openPostgres(url.replace(`:${port}/`, `:${proxy.port}/`), { ...PATIENT, ...options })
  onTestFinished(opened.close)
  if (port === server.port) await until(async () => (await lookupPids()).length === 2)
  query.mockClear()
  return {
    proxy,
    opened,
    find: async (key) => (await opened.sessions.findSession(key))?.id ?? null,
    sent: () => query.mock.calls.flatMap(([statement]) => lookupIds(statement)),
  }
}

/** Returns whether the statement is a lookup. */
function lookupIds(statement: unknown): string[][] {
  const { name, values } = statement as { name?: string; values?: (string | string[])[] }
  // One id isn't sent as an array.
  const ids = [values?.[0] ?? []].flat()
  return name?.startsWith('sallyport_lookup') === true && ids.length > 0 ? [ids] : []
}

/** Returns the idle lookup connections, oldest first. */
async function lookupPids(): Promise<number[]> {
  const found =
    await database.rows(`select pid from pg_stat_activity where application_name = 'sallyport-lookup'
    and datname = current_database() and query ~ 'as k|pg_notify|rate_limit' order by backend_start`)
  return found.map(({ pid }) => Number(pid))
}

/** Returns the result of a lookup, or the reason of its error. */
const outcome = (lookup: Promise<string | null>) =>
  lookup.catch((error: unknown) => {
    if (isAuthError(error)) return error.reason
    throw error
  })

const key = (sessionId: string) => ({ sessionId, userId: 'missing' })

/** Blocks lookups until it is released. */
async function lockSessions() {
  const locker = new pg.Client(database.url)
  locker.on('error', () => {})
  await locker.connect()
  await locker.query('begin')
  await locker.query('lock table session in access exclusive mode')
  const release = () => locker.end()
  onTestFinished(release)
  return { release }
}

const waitingForLock = async () =>
  (
    await database.rows(`select pid from pg_stat_activity where application_name = 'sallyport-lookup'
    and wait_event_type = 'Lock' and datname = current_database() order by backend_start`)
  ).map(({ pid }) => Number(pid))

describe('lookups', () => {
  test('are sent at once if none is running', async () => {
    const { find, sent } = await open()
    const first = find(ada)
    expect(sent()).toEqual([[ada.sessionId]])
    expect(await first).toBe(ada.sessionId)
    const second = find(bob)
    expect(sent()).toEqual([[ada.sessionId], [bob.sessionId]])
    expect(await second).toBe(bob.sessionId)
  })

  test('that arrive while one is running are sent together when it returns', async () => {
    const { find, sent } = await open()
    const all = [ada, bob, key('x'), ada, bob].map(find)
    expect(sent()).toEqual([[ada.sessionId]])
    expect(await Promise.all(all)).toEqual(
      [ada, bob, null, ada, bob].map((found) => found?.sessionId ?? null),
    )
    expect(sent()).toEqual([[ada.sessionId], [bob.sessionId, 'x', ada.sessionId, bob.sessionId]])
  })

  test('read one session each, in parallel on the pool, with a batch size of 1', async () => {
    const query = vi.spyOn(pg.Client.prototype, 'query')
    onTestFinished(() => query.mockRestore())
    const opened = await openPostgres(database.url, { ...PATIENT, lookupBatchSize: 1, poolSize: 3 })
    onTestFinished(opened.close)
    query.mockClear()
    const release = (await lockSessions()).release
    const found = Array.from({ length: 9 }, () => opened.sessions.findSession(ada))
    const sent = () => query.mock.calls.flatMap(([statement]) => lookupIds(statement))
    await until(() => sent().length === 3)
    await release()
    for (const session of found) expect((await session)?.id).toBe(ada.sessionId)
    expect(sent()).toEqual(found.map(() => [ada.sessionId]))
  })

  test('never join a statement that was already sent: each sees every commit from before its call', async () => {
    const { find, sent, proxy } = await open()
    proxy.pauseAnswers()
    const first = [find(ada)]
    await database.run(
      `delete from session where id in (${literal(ada.sessionId)}, ${literal(bob.sessionId)})`,
    )
    const late = [find(ada), find(bob)]
    expect(sent()).toEqual([[ada.sessionId]])
    proxy.resumeAnswers()
    await first[0]
    expect(await Promise.all(late)).toEqual([null, null])
    expect(sent()).toHaveLength(2)
  })

  test('with an id that no column can hold are not sent, and the others in the statement return', async () => {
    const { find, sent } = await open()
    const bad = ['\0', 'x\0', '\ud83d', 'x\udc00y'].flatMap((id) => [
      { ...ada, sessionId: id },
      { ...ada, userId: id },
    ])
    const lookups = [ada, ...bad, bob, ...bad, ada].map(find)
    expect((await Promise.all(lookups)).filter((id) => id !== null)).toEqual([
      ada.sessionId,
      bob.sessionId,
      ada.sessionId,
    ])
    expect(sent()).toEqual([[ada.sessionId], [bob.sessionId, ada.sessionId]])
  })
})

test('dates are read to the millisecond, which a float of seconds may miss', async () => {
  const { opened } = await open()
  const dates = [
    '4826-02-15T22:20:32.061Z',
    '6000-01-06T13:29:13.065Z',
    '9998-04-18T22:38:48.010Z',
    '9999-12-31T23:59:59.999Z',
  ].map((date) => new Date(date))
  const keys = await Promise.all(dates.map((expiresAt) => storeSession(database, { expiresAt })))
  const found = await Promise.all(keys.map((key) => opened.sessions.findSession(key)))
  expect(found.map((session) => session?.expiresAt)).toEqual(dates)
})

describe('a lookup that takes too long', () => {
  // Time moves only when a test advances it.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('is 503, and later lookups use the standby', async () => {
    const { find, sent } = await open({ lookupTimeoutMs: 400 })
    const pids = await lookupPids()
    const [stuck = 0] = pids
    process.kill(stuck, 'SIGSTOP')
    onTestFinished(() => void process.kill(stuck, 'SIGCONT'))
    const timedOut = outcome(find(ada))
    const asLong = outcome(find(bob))
    vi.advanceTimersByTime(200)
    const later = [ada, bob].map((key) => outcome(find(key)))
    vi.advanceTimersByTime(201)
    expect(await timedOut).toBe('SESSIONS_UNAVAILABLE')
    expect(await Promise.all(later)).toEqual([ada.sessionId, bob.sessionId])
    // A lookup that waited just as long also timed out, and is not sent.
    expect(await asLong).toBe('SESSIONS_UNAVAILABLE')
    expect(sent()).toEqual([[ada.sessionId], [ada.sessionId, bob.sessionId]])
    // The connection is replaced and never used again.
    await until(async () => (await lookupPids()).length === 3)
    expect(await find(ada)).toBe(ada.sessionId)
    expect((await lookupPids()).slice(0, 2)).toEqual(pids)
  })

  test('because of a lock is 503, and lookups return once the lock is released', async () => {
    const { find } = await open({ lookupTimeoutMs: 150 })
    const lock = await lockSessions()
    const lookups = [ada, bob, ada].map((key) => outcome(find(key)))
    vi.advanceTimersByTime(151)
    expect(await Promise.all(lookups)).toEqual(Array(3).fill('SESSIONS_UNAVAILABLE'))
    await lock.release()
    await until(async () => (await outcome(find(ada))) === ada.sessionId)
    await until(async () => (await lookupPids()).length === 2)
  })
})

describe('a killed connection', () => {
  test('during a lookup causes no 503: the lookup is sent again', async () => {
    const { find, sent } = await open()
    const lock = await lockSessions()
    const lookups = [ada, bob].map(find)
    await until(async () => (await waitingForLock()).length === 1)
    const [pid] = await waitingForLock()
    await database.rows(`select pg_terminate_backend(${pid}, 5000)`)
    await until(() => sent().length === 2)
    // Lost lookups go first, together with those that arrived since.
    expect(sent()).toEqual([[ada.sessionId], [ada.sessionId, bob.sessionId]])
    await lock.release()
    expect(await Promise.all(lookups)).toEqual([ada.sessionId, bob.sessionId])
  })

  test('and the standby, as after a freeze of the process, cause no 503, but a third one does', async () => {
    const { find, sent } = await open()
    const kill = async () => {
      const [pid] = await waitingForLock()
      await database.rows(`select pg_terminate_backend(${pid}, 5000)`)
    }
    const lock = await lockSessions()
    const lookups = [outcome(find(ada)), outcome(find(bob))]
    for (const place of [1, 2]) {
      // A new connection also waits, after the one in use.
      await until(async () => (await waitingForLock()).length === place && sent().length === place)
      await kill()
    }
    await until(async () => (await waitingForLock()).length === 1)
    // Granted after the new connection is ready, and before its lookup.
    const lockAgain = lockSessions()
    const isQueued = `select from pg_locks where mode = 'AccessExclusiveLock' and not granted
      and database = (select oid from pg_database where datname = current_database())`
    await until(async () => (await database.rows(isQueued)).length === 1)
    await lock.release()
    const again = await lockAgain
    await until(async () => (await waitingForLock()).length >= 1 && sent().length === 3)
    await kill()
    expect(await lookups[0]).toBe('SESSIONS_UNAVAILABLE')
    await again.release()
    expect(await lookups[1]).toBe(bob.sessionId)
  })

  test.each([
    ['the one in use', [0]],
    ['the standby', [1]],
    ['both', [0, 1]],
  ])('while idle is replaced: %s', async (_name, places) => {
    const { find } = await open()
    const pids = await lookupPids()
    for (const place of places) await database.rows(`select pg_terminate_backend(${pids[place]}, 5000)`)
    expect(await find(ada)).toBe(ada.sessionId)
    await until(async () => (await lookupPids()).length === 2)
    const after = await lookupPids()
    for (const [place, pid] of pids.entries()) expect(after.includes(pid)).toBe(!places.includes(place))
    expect(await find(bob)).toBe(bob.sessionId)
  })
})

describe('a faulty statement', () => {
  test('is 503 and keeps the connection', async () => {
    const { find } = await open()
    const pids = await lookupPids()
    await database.run('alter table session rename column "expiresAt" to gone')
    try {
      expect(await outcome(find(ada))).toBe('SESSIONS_UNAVAILABLE')
    } finally {
      await database.run('alter table session rename column gone to "expiresAt"')
    }
    expect(await find(ada)).toBe(ada.sessionId)
    expect(await lookupPids()).toEqual(pids)
  })
})

describe('after the process was frozen', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())
  // Only this clock runs on while AWS Lambda freezes a process.
  const freeze = () => vi.setSystemTime(Date.now() + 60_000)

  test('during an outage, calls wait for a connection', async () => {
    const { find, opened, proxy } = await open()
    const read = () => reasonOf(sql`select 1`.execute(opened.db))
    proxy.reject()
    proxy.cut()
    await until(async () => (await outcome(find(ada))) === 'SESSIONS_UNAVAILABLE')
    await until(async () => (await read()) === 'SESSIONS_UNAVAILABLE')
    proxy.release()
    expect(await Promise.all([outcome(find(ada)), read()])).toEqual(Array(2).fill('SESSIONS_UNAVAILABLE'))
    freeze()
    expect(await Promise.all([outcome(find(ada)), read()])).toEqual([ada.sessionId, 'accepted'])
  })

  test('while it connected, the failure of that connection is no outage', async () => {
    const { find, proxy } = await open()
    // Attempts pause after one that was cut while it connected.
    vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true })
    const before = proxy.attempts
    proxy.pauseAnswers()
    proxy.cut()
    await until(() => proxy.attempts > before)
    freeze()
    const lookup = outcome(find(ada))
    proxy.cut()
    proxy.resumeAnswers()
    expect(await lookup).toBe(ada.sessionId)
  })

  test("statements don't use the connections from before", async () => {
    const { opened } = await open()
    const pid = async () =>
      (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(opened.db)).rows[0]?.pid
    const before = await pid()
    expect(await pid()).toBe(before)
    freeze()
    expect(await pid()).not.toBe(before)
  })

  test('a closed database rejects lookups at once', async () => {
    const { find, opened } = await open()
    await opened.close()
    freeze()
    expect(await outcome(find(ada))).toBe('SESSIONS_UNAVAILABLE')
  })
})

test('retries rarely if the server accepts connections but rejects the statement', async () => {
  const { proxy } = await open()
  const pids = await lookupPids()
  await database.run('alter table session rename column "expiresAt" to gone')
  onTestFinished(() => database.run('alter table session rename column gone to "expiresAt"'))
  for (const pid of pids) await database.rows(`select pg_terminate_backend(${pid}, 5000)`)
  const before = proxy.attempts
  await sleep(1_500)
  // Pauses that grow to half a second allow about five attempts.
  expect(proxy.attempts - before).toBeLessThan(10)
})

test('after closing, every lookup is 503, also waiting and running ones, and no connection is left', async () => {
  const { find, opened } = await open()
  const lock = await lockSessions()
  const lookups = [ada, bob, ada].map((key) => outcome(find(key)))
  await until(async () => (await waitingForLock()).length === 1)
  await opened.close()
  expect(await Promise.all(lookups)).toEqual(Array(3).fill('SESSIONS_UNAVAILABLE'))
  expect(await outcome(find(ada))).toBe('SESSIONS_UNAVAILABLE')
  await lock.release()
  await until(async () => (await lookupPids()).length === 0)
})

test('closes once the running statement has ended, which returns', async () => {
  const { find, opened } = await open()
  const lock = await lockSessions()
  const lookup = outcome(find(ada))
  await until(async () => (await waitingForLock()).length === 1)
  const closed = opened.close().then(waitingForLock)
  await lock.release()
  expect(await lookup).toBe(ada.sessionId)
  expect(await closed).toEqual([])
})

describe('while the server is down', () => {
  test('rejects every lookup with 503, tries few connections at a time, and recovers with the server', async () => {
    const { find, opened, proxy } = await open()
    const write = () =>
      opened.db.updateTable('user').set({ name: 'A' }).where('id', '=', ada.userId).execute()
    await server.crash()
    const attempts = proxy.attempts
    const until503 = async () => {
      for (let i = 0; i < 10; i++) {
        const outcomes = await Promise.all([ada, bob, ada].map((key) => outcome(find(key))))
        expect(new Set(outcomes)).toEqual(new Set(['SESSIONS_UNAVAILABLE']))
        const writes = await Promise.all(Array.from({ length: 20 }, () => reasonOf(write())))
        expect(new Set(writes)).toEqual(new Set(['SESSIONS_UNAVAILABLE']))
      }
    }
    await until503()
    expect(await isReady(config, opened.sessions)).toBe(false)
    await server.start()
    await until(async () => (await outcome(find(ada))) === ada.sessionId)
    await Promise.all([
      until(async () => (await reasonOf(write())) === 'accepted'),
      ...Array.from({ length: 20 }, () => outcome(find(bob))),
    ])
    expect(await find(bob)).toBe(bob.sessionId)
    expect(proxy.attempts).toBeGreaterThan(attempts)
    // The pool, two for lookups, and one that listens.
    expect(proxy.mostUnanswered).toBeLessThanOrEqual(13)
    expect(await isReady(config, opened.sessions)).toBe(true)
  })
})

test('rejects a server in recovery, because its data is stale', async () => {
  const standby = await startPostgres()
  onTestFinished(() => standby.stop())
  const url = await standby.createDatabase('app')
  const direct = async (sql: string) => {
    const client = new pg.Client(url)
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(sql)).rows?.[0]
    } finally {
      await client.end()
    }
  }
  const { find, opened } = await open({}, url, standby.port)
  const eve = await storeSession({ run: direct })
  await until(async () => (await outcome(find(eve))) === eve.sessionId)
  expect(await find(eve)).toBe(eve.sessionId)
  const { data_directory: directory } = await direct('show data_directory')
  await standby.crash()
  writeFileSync(join(directory, 'standby.signal'), '')
  // It accepts connections before it accepts writes. Wait for writes.
  const started = standby.start()
  await until(() =>
    direct('select 1').then(
      () => true,
      () => false,
    ),
  )
  expect(await direct('select id from session')).toEqual({ id: eve.sessionId })
  for (let i = 0; i < 5; i++) expect(await outcome(find(eve))).toBe('SESSIONS_UNAVAILABLE')
  await until(async () => {
    const error = await Promise.resolve(opened.sessions.findSession(eve)).catch((error: unknown) => error)
    return failureCode(error) === 'DATABASE_READ_ONLY'
  })
  expect(await reasonOf(opened.db.selectFrom('user').select('id').execute())).toBe('SESSIONS_UNAVAILABLE')
  expect(await isReady(config, opened.sessions)).toBe(false)
  await expect(openPostgres(url)).rejects.toThrow('in recovery')
  await direct('select pg_promote()')
  await started
  await until(async () => (await outcome(find(eve))) === eve.sessionId)
  expect(await isReady(config, opened.sessions)).toBe(true)
})
