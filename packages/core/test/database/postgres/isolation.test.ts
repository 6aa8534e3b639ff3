import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { openPostgres } from '@sallyport/core/postgres'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { AuthKysely } from '../../../src/database/schema/kysely-tables.ts'
import type { AuthTransaction } from '../../../src/database/session-database.ts'
import { lockUser } from '../../../src/lifecycle/locked-sessions.ts'
import { setPassword } from '../../../src/plugins/email-password/accounts.ts'
import { hashPassword } from '../../../src/plugins/email-password/password.ts'
import { PATIENT, testPostgres } from '../../support/postgres.ts'
import { startPostgresAuth } from '../../support/postgres-auth.ts'
import { POSTGRES_CLIENTS } from '../../support/postgres-clients.ts'
import { post } from '../../support/requests.ts'
import { statusOf } from '../../support/status-of.ts'
import { until } from '../../support/until.ts'

/** The app's own transactions may need it. */
const postgres = { default_transaction_isolation: 'repeatable read' }
const auth = await startPostgresAuth({ postgres })
const server = await testPostgres(postgres)

test('a sign-in with the old password that waits for a password change fails', async () => {
  const { userId, email } = await auth.createUser()
  const password = await hashPassword('another rare password', 'known')
  const isWaiting = async (trx: AuthTransaction) =>
    (await sql`select 1 from pg_locks where not granted`.execute(trx)).rows.length > 0
  const signingIn = await auth.database.db.transaction().execute(async (trx) => {
    await lockUser(trx, userId)
    const body = { email, password: TEST_PASSWORD }
    const status = statusOf(auth.handler(post(ENDPOINTS.signInEmail.path, body)))
    await until(() => isWaiting(trx))
    await setPassword(trx, { userId, password, now: auth.clock.now() })
    return { status }
  })
  expect(await signingIn.status).toBe('401 INVALID_CREDENTIALS')
})

const CLIENTS = {
  'a Pool of pg': POSTGRES_CLIENTS['a Pool of pg'],
  postgres: POSTGRES_CLIENTS.postgres,
}

let databases = 0

test.each(Object.entries(CLIENTS))('transactions with %s are read committed', async (_name, connect) => {
  const url = await server.createDatabase(`app_${databases++}`)
  const { client, end } = connect(url)
  onTestFinished(() => end())
  const opened = await openPostgres({ pool: client }, PATIENT)
  onTestFinished(opened.close)
  const level = sql<{ level: string }>`select current_setting('transaction_isolation') as level`
  const levelIn = async (db: AuthKysely) => (await level.execute(db)).rows[0]?.level
  expect(await levelIn(opened.db)).toBe('repeatable read')
  expect(await opened.db.transaction().execute(levelIn)).toBe('read committed')
  const serializable = opened.db.transaction().setIsolationLevel('serializable')
  expect(await serializable.execute(levelIn)).toBe('serializable')
})
