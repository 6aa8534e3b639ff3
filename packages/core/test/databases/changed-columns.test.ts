import { createAuth, defineAuth } from '@sallyport/core/auth'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { expect, onTestFinished, test } from 'vitest'
import { createIssuer } from '../support/create-issuer.ts'
import { postgresKind } from '../support/database-kinds.ts'
import { PATIENT_SESSION, testPostgres } from '../support/postgres.ts'

const AT_ONCE = 20

const kind = postgresKind(await testPostgres())
const { config, signingKeys } = await createIssuer({ session: PATIENT_SESSION })
const definition = defineAuth({ config, signingKeys, plugins: [emailPassword()] })

const request = (cookie = '') =>
  new Request('http://localhost:3000/', {
    method: 'POST',
    headers: { [CLIENT_HEADER]: '1', ...(cookie !== '' && { cookie }) },
  })

test('a column whose type changes while the store is open fails no call on any connection', async () => {
  const database = await kind.create()
  const auth = await createAuth(definition, await database.open(), { pruneEverySeconds: 0 })
  onTestFinished(auth.close)
  const email = 'ada@example.com'
  await auth.api.signUpEmail({ name: 'Ada', email, password: TEST_PASSWORD, request: request() })
  const { headers } = await auth.api.signInEmail({ email, password: TEST_PASSWORD, request: request() })
  const cookie = headers
    .getSetCookie()
    .map((pair) => pair.split(';')[0])
    .join('; ')
  /** As many at once as it takes to use every connection of the pool. */
  const callAll = () =>
    Promise.all(
      Array.from({ length: AT_ONCE }, () =>
        Promise.all([
          auth.api.token({ request: request(cookie) }),
          auth.api.getSession({ request: request(cookie) }),
        ]),
      ),
    )

  await callAll()
  await database.run(`
    alter table session alter column "expiresAt" type timestamptz(3);
    alter table "user" alter column role type varchar(20)`)
  expect(await callAll()).toHaveLength(AT_ONCE)
  await database.run('alter table session alter column "expiresAt" type timestamptz')
  expect(await callAll()).toHaveLength(AT_ONCE)
})
