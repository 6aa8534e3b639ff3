import type { AuthPlugin } from '@sallyport/core/auth'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openBrowser } from '../support/open-browser.ts'
import { startPostgresAuth } from '../support/postgres-auth.ts'
import { until } from '../support/until.ts'

/** Runs in the transaction that creates a session. */
let beforeCommit = async (_userId: string) => {}
const plugin: AuthPlugin = {
  id: 'test',
  async onChange(event) {
    if (event.type === 'session.created') await beforeCommit(event.userId)
  },
}
const auth = await startPostgresAuth({ plugins: [plugin] })

test('a browser whose session is about to end is not remembered', async () => {
  const { email } = await auth.createUser()
  const isWaiting = async () => {
    const { rows } = await sql`select from pg_stat_activity where wait_event_type = 'Lock'`.execute(auth.db)
    return rows.length > 0
  }
  let ending: Promise<unknown> | undefined
  // Gets its lock before the transaction that remembers the browser. Locks of rows don't keep that order.
  beforeCommit = async (userId) => {
    ending = auth.db.transaction().execute(async (trx) => {
      await sql`lock table "user" in exclusive mode`.execute(trx)
      await trx.deleteFrom('session').where('userId', '=', userId).execute()
      await until(isWaiting)
    })
    await until(isWaiting)
  }
  expect((await openBrowser(auth).signIn(email)).status).toBe('200')
  await ending
  const rows = auth.db.$extendTables<{ knownDevice: { id: string } }>()
  expect(await rows.selectFrom('knownDevice').select('id').execute()).toEqual([])
})
