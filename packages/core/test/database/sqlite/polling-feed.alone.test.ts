import { join } from 'node:path'
import { openSqlite, openSqliteStore } from '@sallyport/core/sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { sessionSql } from '../../../src/database/session-sql.ts'
import { pollingFeed } from '../../../src/database/sqlite/polling-feed.ts'
import { eventually } from '../../support/eventually.ts'
import { SQLITE_CLIENTS } from '../../support/sqlite-clients.ts'
import { inHours, literal, storeSession } from '../../support/stored-sessions.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
let files = 0

/** Opens a mapped store, which has no triggers, on our own tables. */
async function openStore(open: (typeof SQLITE_CLIENTS)[keyof typeof SQLITE_CLIENTS], path: string) {
  const app = open(path)
  await (await openSqlite({ client: app.client })).close()
  const mapping = { session: { columns: { version: 'version' } } }
  const store = await openSqliteStore({ client: app.client }, { mapping })
  onTestFinished(async () => {
    await store.close()
    app.close()
  })
  return { app, store }
}

/** Subscribes a listener, and waits for its first call. */
async function listen(
  feed: Awaited<ReturnType<typeof openStore>>['store']['revocations'],
  key: { sessionId: string; userId: string },
) {
  const listener = vi.fn<() => void>()
  onTestFinished(feed.subscribe(key, listener))
  await eventually(() => expect(listener).toHaveBeenCalledOnce())
  listener.mockClear()
  return listener
}

describe.each(
  Object.entries(SQLITE_CLIENTS).flatMap(([name, open]) => [
    { name, open, place: 'a file', newPath: (): string => join(directory, `${files++}.db`) },
    { name, open, place: 'memory', newPath: (): string => ':memory:' },
  ]),
)('$name, in $place', ({ open, newPath }) => {
  test.each([
    ['deletes the session', (id: string) => `delete from session where id = ${id}`],
    [
      'shortens it',
      (id: string) => `update session set expiresAt = ${literal(inHours(0).toISOString())} where id = ${id}`,
    ],
    ['increases its version', (id: string) => `update session set version = 2 where id = ${id}`],
    ['bans its user', (_id: string, user: string) => `update user set banned = 1 where id = ${user}`],
    ['deletes its user', (_id: string, user: string) => `delete from user where id = ${user}`],
  ])("calls only the session's subscribers when the app %s", async (_name, change) => {
    const { app, store } = await openStore(open, newPath())
    const [ada, eve] = [await storeSession(app), await storeSession(app)]
    const [adas, eves] = [await listen(store.revocations, ada), await listen(store.revocations, eve)]
    await app.run(change(literal(ada.sessionId), literal(ada.userId)))
    await eventually(() => expect(adas).toHaveBeenCalledOnce())
    expect(eves).not.toHaveBeenCalled()
  })
})

describe('a pass', () => {
  const names = sessionSql('sqlite')

  /** Creates a feed with a counter of passes, on a table of sessions in memory. */
  function openFeed() {
    const statements: string[][] = []
    let version = 0
    let fails = 0
    const feed = pollingFeed({
      sql: names,
      readVersion: () => version,
      async read(_sql, parameters) {
        statements.push(JSON.parse(String(parameters?.[0])))
        if (fails-- > 0) throw new Error('disk I/O error')
        return []
      },
    })
    onTestFinished(() => feed.close())
    return {
      feed,
      statements,
      change: () => void version++,
      fail: () => {
        fails = 1
      },
    }
  }
  const key = (number: number) => ({ sessionId: `s${number}`, userId: 'u' })
  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

  test('reads 500 sessions with each statement, each session once', async () => {
    const { feed, statements } = openFeed()
    const listener = vi.fn<() => void>()
    for (let number = 0; number < 1_200; number++) feed.subscribe(key(number), listener)
    feed.subscribe(key(0), listener)
    await eventually(() => expect(listener).toHaveBeenCalledTimes(1_201))
    expect(statements.map(({ length }) => length)).toEqual([500, 500, 200])
  })

  test('runs only after a change, and never more than four times a second', async () => {
    const { feed, statements, change } = openFeed()
    const listener = vi.fn<() => void>()
    feed.subscribe(key(1), listener)
    await eventually(() => expect(statements).toHaveLength(1))
    await sleep(600)
    expect(statements).toHaveLength(1)
    const startedAt = performance.now()
    const changing = setInterval(change, 5)
    await sleep(1_500)
    clearInterval(changing)
    const passes = statements.length - 1
    expect(passes).toBeGreaterThan(0)
    expect(passes).toBeLessThanOrEqual(Math.ceil((performance.now() - startedAt) / 250))
    expect(listener).toHaveBeenCalledOnce()
  })

  test('is retried after an error', async () => {
    const { feed, statements, fail } = openFeed()
    const listener = vi.fn<() => void>()
    fail()
    feed.subscribe(key(1), listener)
    await eventually(() => expect(listener).toHaveBeenCalledOnce())
    expect(statements).toHaveLength(2)
  })

  test("doesn't run without subscribers", async () => {
    const { feed, statements, change } = openFeed()
    const listener = vi.fn<() => void>()
    const unsubscribe = feed.subscribe(key(1), listener)
    await eventually(() => expect(listener).toHaveBeenCalledOnce())
    unsubscribe()
    change()
    await sleep(400)
    expect(statements).toHaveLength(1)
  })
})
