import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AuthDatabase, type Reason, withAuthStore } from '@sallyport/core'
import { openSqlite, openSqliteStore } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { startFixture } from '../../../core/test/support/child-process.ts'
import {
  betterAuthSql,
  betterAuthTables,
  type HostTables,
  hostApp,
  libraryTables,
} from '../../../core/test/support/host-tables.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { guardedApp } from './guarded-app.ts'

const IS_LONG = process.env.DATABASES === 'all'
const SECONDS = IS_LONG ? 60 : 2
/** In the short run, a machine that stops the other process during a commit fails no call. */
const WAITS = IS_LONG ? {} : { busyTimeoutMs: 60_000 }
/** How long each commit of the other process holds the lock. */
const HOLD_MS = { 5: 30, 50: 10 } as const
const directory = temporaryDirectory()

interface Opened {
  readonly db: AuthDatabase
  close(): Promise<void>
}

const STORES: readonly {
  store: string
  journal: 'delete' | 'wal'
  tables: HostTables
  open(path: string): Promise<Opened>
}[] = [
  ...(['delete', 'wal'] as const).map((journal) => ({
    store: 'a mapped store',
    journal,
    tables: betterAuthTables('SQLite'),
    async open(path: string) {
      const store = await openSqliteStore(path, {
        ...WAITS,
        mapping: betterAuthTables('SQLite').mapping ?? {},
      })
      return { db: withAuthStore({}, store), close: store.close }
    },
  })),
  {
    store: 'our own tables',
    journal: 'wal',
    tables: libraryTables('SQLite'),
    open: (path) => openSqlite(path, WAITS),
  },
  {
    // With a client of the app, the file keeps its journal mode.
    store: 'our own tables',
    journal: 'delete',
    tables: libraryTables('SQLite'),
    async open(path) {
      const client = new Database(path)
      const { db, close } = await openSqlite({ client }, WAITS)
      return { db, close: () => close().then(() => void client.close()) }
    },
  },
]

const cases = STORES.flatMap((store) => ([5, 50] as const).map((rate) => ({ ...store, rate })))

// Together, so a short run takes a few seconds.
test.concurrent.for(cases)(
  `$store in journal mode $journal rejects no call while another process writes for ${SECONDS} s, $rate times a second`,
  { timeout: 60_000 + SECONDS * 2000 },
  async ({ store, journal, tables, open, rate }) => {
    const path = join(directory, `${store}-${journal}-${rate}.db`)
    const hand = new Database(path, { timeout: 10_000 })
    hand.pragma(`journal_mode = ${journal}`)
    if (tables.mapping !== null) hand.exec(betterAuthSql('SQLite'))
    const opened = await open(path)
    hand.exec('create table note (id text)')
    const host = hostApp({ run: async (sql) => void hand.exec(sql) }, tables)
    const session = await host.signUp()

    const app = guardedApp(opened.db)
    const [writes, holdMs] = [rate * SECONDS, HOLD_MS[rate]]
    const writer = startFixture('writeSteadily', path, String(writes), String(rate), String(holdMs))
    expect(await writer.nextMessage()).toBe('writing')
    let isWriting = true
    const written = writer.nextMessage().finally(() => {
      isWriting = false
    })
    const rejected: Record<string, number> = {}
    let calls = 0
    while (isWriting) {
      // Several in one turn of the event loop share a read transaction.
      const reasons = await Promise.all(Array.from({ length: 1 + (calls % 3) }, () => app.call(session)))
      calls += reasons.length
      for (const reason of reasons) if (reason !== null) rejected[reason] = (rejected[reason] ?? 0) + 1
      await sleep(2)
    }
    expect(await written).toBe('done')
    expect({ rejected, hostFailures: host.failed }).toEqual({ rejected: {}, hostFailures: [] })
    expect(calls).toBeGreaterThan(0)
    expect(hand.prepare('select count(*) from note').pluck().get()).toBe(writes)
    // A revocation is effective at once.
    await host.deleteSession(session)
    expect(await app.call(session)).toBe<Reason>('SESSION_NOT_FOUND')
    expect(hand.pragma('journal_mode', { simple: true })).toBe(journal)
    expect(hand.pragma('integrity_check', { simple: true })).toBe('ok')
    await opened.close()
    hand.close()
  },
)
