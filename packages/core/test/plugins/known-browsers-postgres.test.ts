import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openBrowser } from '../support/open-browser.ts'
import { startPostgresAuth } from '../support/postgres-auth.ts'

/** Runs between the commit of a session and the transaction that remembers its browser. */
let afterSession = async (_userId: string) => {}
const auth = await startPostgresAuth({
  async onEvent(event) {
    if (event.type === 'session.created') await afterSession(event.userId)
  },
})

test('a browser whose session is about to end is not remembered', async () => {
  const { userId, email } = await auth.createUser()
  const locked = Promise.withResolvers<void>()
  let ending: Promise<void> | undefined
  afterSession = () => {
    ending = auth.db.transaction().execute(async (trx) => {
      await trx.selectFrom('user').select('id').where('id', '=', userId).forNoKeyUpdate().execute()
      await trx.deleteFrom('session').where('userId', '=', userId).execute()
      locked.resolve()
      await setTimeout(200)
    })
    return locked.promise
  }
  expect((await openBrowser(auth).signIn(email)).status).toBe('200')
  await ending
  const rows = auth.db.withTables<{ knownDevice: { id: string } }>()
  expect(await rows.selectFrom('knownDevice').select('id').execute()).toEqual([])
})
