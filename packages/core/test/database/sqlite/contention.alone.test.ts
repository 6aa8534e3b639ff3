import { join } from 'node:path'
import { openSqlite } from '@sallyport/core/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { startFixture } from '../../support/child-process.ts'
import { SQLITE_CLIENTS } from '../../support/sqlite-clients.ts'
import { storeSession } from '../../support/stored-sessions.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
const LIMIT = { points: 150, duration: 3600 }

test.each(
  Object.entries(SQLITE_CLIENTS).flatMap(([name, open]) =>
    ['delete', 'wal'].map((mode) => ({ name, open, mode })),
  ),
)(
  '$name, in $mode mode: every write is stored while another process writes',
  async ({ name, open, mode }) => {
    const path = join(directory, `${name.replace('/', '-')}-${mode}.db`)
    const app = open(path)
    onTestFinished(app.close)
    await app.run(`pragma journal_mode = ${mode}`)
    // The test is about what is stored, on a machine of any speed.
    const options = { busyTimeoutMs: 60_000 }
    const { db, limits, sessions, close } = await openSqlite({ client: app.client }, options)
    onTestFinished(close)
    await app.run('create table note (text)')
    const ada = await storeSession(app)
    const writer = startFixture('writeOften', path, '50')
    onTestFinished(() => writer.kill())
    expect(await writer.nextMessage()).toBe('writing')
    const work = Array.from({ length: LIMIT.points }, async (_, version) => {
      expect(await limits.consume('a', LIMIT)).toBeNull()
      await db.transaction().execute(async (trx) => {
        await trx.selectFrom('user').select('id').execute()
        await trx.updateTable('session').set({ version }).where('id', '=', ada.sessionId).execute()
      })
      expect(await sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
    })
    await Promise.all(work)
    expect(await limits.consume('a', LIMIT)).toBeGreaterThan(0)
  },
)
