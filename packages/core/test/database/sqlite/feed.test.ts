import { join } from 'node:path'
import { openSqlite } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { sqliteFeed } from '../../../src/database/sqlite/feed.ts'
import { toConnection } from '../../../src/database/sqlite/to-connection.ts'
import { literal, storeSession } from '../../support/stored-sessions.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const path = join(temporaryDirectory(), 'app.db')
const here = await openSqlite(path)
const there = await openSqlite(path)
const hand = new Database(path)
afterAll(async () => {
  hand.close()
  await here.close()
  await there.close()
})

// Time passes when a test advances it. The writes in between are real.
beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'] }),
)
afterEach(() => void vi.useRealTimers())

const POLL_MS = 100
const byHand = { run: async (sql: string) => void hand.exec(sql) }
const ada = await storeSession(byHand)
const bob = await storeSession(byHand)

/** Opens a feed on a separate connection, and collects the statements that it runs. */
function openFeed(): {
  feed: ReturnType<typeof sqliteFeed>
  reader: Database.Database
  statementsRun: () => string[]
} {
  const statements: string[] = []
  const reader = new Database(path, { readonly: true, verbose: (sql) => statements.push(String(sql)) })
  const feed = sqliteFeed(toConnection(reader), async () => {})
  onTestFinished(() => {
    feed.close()
    reader.close()
  })
  return { feed, reader, statementsRun: () => statements.splice(0) }
}

/** Subscribes a listener that was called once, as after every idle time. */
function listen(feed: Pick<ReturnType<typeof sqliteFeed>, 'subscribe'>, key = ada) {
  const listener = vi.fn<() => void>()
  const unsubscribe = feed.subscribe(key, listener)
  onTestFinished(unsubscribe)
  vi.advanceTimersByTime(POLL_MS)
  listener.mockClear()
  return { listener, unsubscribe }
}

const revoke = (...keys: { sessionId: string; userId: string }[]) => {
  const insert = hand.prepare('insert into sallyport_revocation_log (sessionId, userId) values (?, ?)')
  hand.transaction(() => {
    for (const { sessionId, userId } of keys) insert.run(sessionId, userId)
  })()
}

describe('a change by another connection', () => {
  test('reaches the affected listeners within 100 ms', async () => {
    const { feed } = openFeed()
    const [adas, bobs] = [listen(feed), listen(feed, bob)]
    revoke(ada)
    vi.advanceTimersByTime(POLL_MS - 1)
    expect(adas.listener).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(adas.listener).toHaveBeenCalledOnce()
    expect(bobs.listener).not.toHaveBeenCalled()
    vi.advanceTimersByTime(10 * POLL_MS)
    expect(adas.listener).toHaveBeenCalledOnce()
  })

  test('raises the revision before any listener is called', () => {
    const { feed } = openFeed()
    listen(feed, bob)
    const before = feed.revision
    const revisions: number[] = []
    onTestFinished(feed.subscribe(ada, () => revisions.push(feed.revision)))
    revoke(bob, ada)
    vi.advanceTimersByTime(POLL_MS)
    expect(revisions).toEqual([before + 2])
  })

  test('reaches every process that has the file open', async () => {
    const opened = { here: listen(here.revocations).listener, there: listen(there.revocations).listener }
    const changes = {
      'one of them': () =>
        here.db.updateTable('user').set({ role: 'a' }).where('id', '=', ada.userId).execute(),
      'the other': () =>
        there.db.updateTable('user').set({ role: 'b' }).where('id', '=', ada.userId).execute(),
      'a hand': async () => hand.exec(`update user set role = 'c' where id = ${literal(ada.userId)}`),
    }
    for (const [who, change] of Object.entries(changes)) {
      await change()
      vi.advanceTimersByTime(POLL_MS)
      const calls = { here: opened.here.mock.calls.length, there: opened.there.mock.calls.length }
      expect({ who, ...calls }).toEqual({ who, here: 1, there: 1 })
      opened.here.mockClear()
      opened.there.mockClear()
    }
  })
})

test('publishes a change by this process at once', () => {
  const { feed } = openFeed()
  const { listener } = listen(feed)
  feed.publish(ada)
  expect(listener).toHaveBeenCalledOnce()
})

describe('a new listener', () => {
  test('is called once after an idle time, because it may have missed changes', () => {
    const { feed } = openFeed()
    const listener = vi.fn<() => void>()
    const unsubscribe = feed.subscribe(ada, listener)
    expect(listener).not.toHaveBeenCalled()
    vi.advanceTimersByTime(0)
    expect(listener).toHaveBeenCalledOnce()
    vi.advanceTimersByTime(10 * POLL_MS)
    expect(listener).toHaveBeenCalledOnce()
    unsubscribe()
    revoke(ada)
    onTestFinished(feed.subscribe(ada, listener))
    vi.advanceTimersByTime(10 * POLL_MS)
    expect(listener).toHaveBeenCalledTimes(2)
  })

  test('is called once if it unsubscribes and subscribes again in one turn', () => {
    const { feed } = openFeed()
    const listener = vi.fn<() => void>()
    feed.subscribe(ada, listener)()
    onTestFinished(feed.subscribe(ada, listener))
    vi.advanceTimersByTime(10 * POLL_MS)
    expect(listener).toHaveBeenCalledOnce()
  })

  test("isn't called for earlier changes if others are subscribed", () => {
    const { feed } = openFeed()
    listen(feed)
    const listener = vi.fn<() => void>()
    onTestFinished(feed.subscribe(ada, listener))
    vi.advanceTimersByTime(10 * POLL_MS)
    expect(listener).not.toHaveBeenCalled()
  })
})

describe('statements run', () => {
  test('never without a listener, and without a timer', () => {
    const { statementsRun } = openFeed()
    statementsRun()
    vi.advanceTimersByTime(10 * POLL_MS)
    expect(statementsRun()).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('only for the version while nothing is written', () => {
    const { feed, statementsRun } = openFeed()
    listen(feed)
    statementsRun()
    vi.advanceTimersByTime(3 * POLL_MS)
    expect(statementsRun()).toEqual(Array(3).fill('pragma data_version'))
  })

  test('not after the last listener unsubscribes', () => {
    const { feed, statementsRun } = openFeed()
    const [one, other] = [listen(feed), listen(feed, bob)]
    one.unsubscribe()
    one.unsubscribe()
    statementsRun()
    vi.advanceTimersByTime(POLL_MS)
    expect(statementsRun()).toHaveLength(1)
    other.unsubscribe()
    vi.advanceTimersByTime(10 * POLL_MS)
    expect(statementsRun()).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('not after it is closed, even with a new listener', () => {
    const { feed, statementsRun, reader } = openFeed()
    listen(feed)
    feed.close()
    reader.close()
    statementsRun()
    vi.advanceTimersByTime(10 * POLL_MS)
    const listener = vi.fn<() => void>()
    onTestFinished(feed.subscribe(bob, listener))
    vi.advanceTimersByTime(10 * POLL_MS)
    expect(statementsRun()).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('reads 100,000 entries at 500 per turn, however often it polls, and publishes all of them', async () => {
  vi.useRealTimers()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
  const { feed } = openFeed()
  const listener = vi.fn<() => void>()
  onTestFinished(feed.subscribe(ada, listener))
  await nextTurn()
  listener.mockClear()
  revoke(...Array(99_999).fill(bob), ada)
  onTestFinished(() => void hand.exec('delete from sallyport_revocation_log'))
  const before = feed.revision
  const published = () => feed.revision - before
  const perTurn: number[] = []
  for (let turn = 0; published() < 100_000; turn++) {
    if (turn % 20 === 0) vi.advanceTimersByTime(POLL_MS)
    const revision = feed.revision
    expect(listener).not.toHaveBeenCalled()
    await nextTurn()
    perTurn.push(feed.revision - revision)
  }
  expect(Math.max(...perTurn)).toBe(500)
  expect(published()).toBe(100_000)
  expect(listener).toHaveBeenCalledOnce()
})

test("pruning unread entries doesn't hide later ones", () => {
  const { feed } = openFeed()
  const { listener } = listen(feed)
  revoke(bob)
  hand.exec('delete from sallyport_revocation_log')
  vi.advanceTimersByTime(POLL_MS)
  revoke(ada)
  vi.advanceTimersByTime(POLL_MS)
  expect(listener).toHaveBeenCalledOnce()
})

test('retries a failed read at the next poll', () => {
  const { feed } = openFeed()
  const { listener } = listen(feed)
  revoke(ada)
  hand.exec('alter table sallyport_revocation_log rename to renamed')
  vi.advanceTimersByTime(POLL_MS)
  expect(listener).not.toHaveBeenCalled()
  hand.exec('alter table renamed rename to sallyport_revocation_log')
  vi.advanceTimersByTime(POLL_MS)
  expect(listener).toHaveBeenCalledOnce()
})
