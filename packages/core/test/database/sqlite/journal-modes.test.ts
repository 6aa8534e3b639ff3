import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { openSqlite, openSqliteStore } from '@sallyport/core/sqlite'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { startFixture } from '../../support/child-process.ts'
import { storeSession } from '../../support/stored-sessions.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
const mapping = { session: { columns: { version: 'version' } } }
let files = 0

/** Creates a file of another library in a journal mode, with a session. */
async function createFile(mode: 'delete' | 'wal') {
  const path = join(directory, `${files++}.db`)
  const app = new Database(path)
  onTestFinished(() => void app.close())
  app.pragma(`journal_mode = ${mode}`)
  await (await openSqlite({ client: app })).close()
  app.exec('create table note (text)')
  const ada = await storeSession({ run: async (sql) => void app.exec(sql) })
  const store = await openSqliteStore(path, { mapping, busyTimeoutMs: 60_000 })
  onTestFinished(store.close)
  return { path, app, ada, sessions: store.sessions }
}

test.each(['delete', 'wal'] as const)(
  'in %s mode, finds a session 2,000 times while another process writes 50 times a second',
  async (mode) => {
    const { path, app, ada, sessions } = await createFile(mode)
    const writer = startFixture('writeOften', path, '50')
    onTestFinished(() => writer.kill())
    expect(await writer.nextMessage()).toBe('writing')
    const results: PromiseSettledResult<unknown>[] = []
    for (let round = 0; round < 400; round++) {
      // Alone, and several in one turn, which share a transaction.
      const lookups = Array.from({ length: 5 }, async () => sessions.findSession(ada))
      results.push(...(await Promise.allSettled(lookups)))
      await sleep(3)
    }
    expect(results).toHaveLength(2_000)
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
    expect(app.pragma('journal_mode', { simple: true })).toBe(mode)
  },
)

test.each([1, 5])('%i lookups wait for a lock without blocking other work', async (count) => {
  const { app, ada, sessions } = await createFile('delete')
  // The turn after one with several lookups collects them.
  await Promise.all([sessions.findSession(ada), sessions.findSession(ada)])
  await nextTurn()
  app.exec('begin exclusive')
  let done = 0
  const lookups = Array.from({ length: count }, async () => {
    const found = await sessions.findSession(ada)
    done++
    return found?.id
  })
  for (let turn = 0; turn < 20; turn++) await nextTurn()
  expect(done).toBe(0)
  app.exec('commit')
  expect(await Promise.all(lookups)).toEqual(Array(count).fill(ada.sessionId))
})

test('a lookup that waits longer than busyTimeoutMs is unavailable', async () => {
  const { path, app, ada } = await createFile('delete')
  const { sessions, close } = await openSqliteStore(path, { mapping, busyTimeoutMs: 1 })
  app.exec('begin exclusive')
  await expect(async () => sessions.findSession(ada)).rejects.toMatchObject({
    reason: 'SESSIONS_UNAVAILABLE',
  })
  app.exec('commit')
  expect(await sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
  await close()
})
