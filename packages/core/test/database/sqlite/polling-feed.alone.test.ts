import { join } from 'node:path'
import type { RevocationFeed } from '@sallyport/core'
import type { AddedColumns } from '@sallyport/core/auth'
import { openSqlite, openSqliteStore } from '@sallyport/core/sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { SQLITE_CLIENTS } from '../../support/sqlite-clients.ts'
import { inHours, literal, storeSession } from '../../support/stored-sessions.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
let files = 0

const columns: AddedColumns = { user: {}, session: { note: { type: 'text' } } }

/** Opens our own tables, and a mapped store on them. */
async function openFeeds(open: (typeof SQLITE_CLIENTS)[keyof typeof SQLITE_CLIENTS], path: string) {
  const app = open(path)
  const own = await openSqlite({ client: app.client }, { columns })
  const mapping = { session: { columns: { version: 'version' } } }
  const mapped = await openSqliteStore({ client: app.client }, { mapping })
  onTestFinished(async () => {
    await own.close()
    await mapped.close()
    app.close()
  })
  return { app, own: own.revocations, mapped: mapped.revocations }
}

/** Subscribes a listener, and waits for its first call. */
async function listen(feed: RevocationFeed, key: { sessionId: string; userId: string }) {
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
    const { app, own, mapped } = await openFeeds(open, newPath())
    const [ada, eve] = [await storeSession(app), await storeSession(app)]
    const adas = [await listen(own, ada), await listen(mapped, ada)]
    const eves = [await listen(own, eve), await listen(mapped, eve)]
    await app.run(change(literal(ada.sessionId), literal(ada.userId)))
    for (const listener of adas) await eventually(() => expect(listener).toHaveBeenCalledOnce())
    for (const listener of eves) expect(listener).not.toHaveBeenCalled()
  })

  test('calls them when the app changes a column that a definition added', async () => {
    const { app, own } = await openFeeds(open, newPath())
    const ada = await storeSession(app)
    const listener = await listen(own, ada)
    await app.run(`update session set note = 'changed' where id = ${literal(ada.sessionId)}`)
    await eventually(() => expect(listener).toHaveBeenCalledOnce())
  })
})
