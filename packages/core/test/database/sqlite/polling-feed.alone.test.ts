import { join } from 'node:path'
import type { RevocationFeed, SessionKey } from '@sallyport/core'
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

/** Statements of the app that change a session or its user. */
const CHANGES: Readonly<Record<string, (id: string, user: string) => string>> = {
  'deletes the session': (id) => `delete from session where id = ${id}`,
  'shortens it': (id) =>
    `update session set expiresAt = ${literal(inHours(0).toISOString())} where id = ${id}`,
  'increases its version': (id) => `update session set version = 2 where id = ${id}`,
  'bans its user': (_id, user) => `update user set banned = 1 where id = ${user}`,
  'deletes its user': (_id, user) => `delete from user where id = ${user}`,
}

/** Subscribes a listener, and waits for its first call. */
async function listen(feed: RevocationFeed, key: SessionKey) {
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
  test("calls only the session's subscribers when the app changes what decides about it", async () => {
    const { app, own, mapped } = await openFeeds(open, newPath())
    const feeds = [own, mapped]
    const eve = await storeSession(app)
    const changed: { how: string; statement: string; key: SessionKey }[] = []
    for (const [how, change] of Object.entries(CHANGES)) {
      const key = await storeSession(app)
      changed.push({ how, key, statement: change(literal(key.sessionId), literal(key.userId)) })
    }
    const listenTo = (key: SessionKey) => Promise.all(feeds.map((feed) => listen(feed, key)))
    const [eves = [], ...others] = await Promise.all([eve, ...changed.map(({ key }) => key)].map(listenTo))
    for (const { statement } of changed) await app.run(statement)
    for (const [place, { how }] of changed.entries())
      for (const listener of others[place] ?? [])
        await eventually(() => expect(listener, how).toHaveBeenCalledOnce())
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
