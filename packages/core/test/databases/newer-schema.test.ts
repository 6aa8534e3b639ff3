import { createAuth, defineAuth } from '@sallyport/core/auth'
import { CLIENT_HEADER } from '@sallyport/core/internal/protocol'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { codeOf } from '../support/code-of.ts'
import { createIssuer } from '../support/create-issuer.ts'
import { type DatabaseKind, databaseKinds, type TestDatabase } from '../support/database-kinds.ts'
import { PATIENT_SESSION } from '../support/postgres.ts'

const { config, signingKeys } = await createIssuer({ session: PATIENT_SESSION })
const definition = defineAuth({ config, signingKeys, plugins: [emailPassword()] })

const request = (cookie = '') =>
  new Request('http://localhost:3000/', {
    method: 'POST',
    headers: { [CLIENT_HEADER]: '1', ...(cookie !== '' && { cookie }) },
  })
const cookieOf = (headers: Headers) =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')

/** Returns the quoted name of the table that lists the library's migrations. */
async function migrationTable({ rows }: TestDatabase, { name }: DatabaseKind): Promise<string> {
  const [row] = await rows(
    name === 'SQLite'
      ? `select '"' || name || '"' as "table" from sqlite_schema where name = 'sallyport_migration'`
      : `select format('%I.%I', table_schema, table_name) as "table" from information_schema.tables
          where table_name in ('sallyport_migration', 'migration')`,
  )
  return String(row?.table)
}

/** Migrates as a later release will: adds a column that can be null, and a row to the list. */
async function migrateBeyond(database: TestDatabase, kind: DatabaseKind): Promise<void> {
  const table = await migrationTable(database, kind)
  await database.run('alter table session add column later text')
  await database.run(
    `insert into ${table} (name, timestamp) values ('9000_later', '${new Date().toISOString()}')`,
  )
}

describe.each(await databaseKinds())('$name', (kind) => {
  test('this release runs on a schema that is one additive migration ahead', async () => {
    const database = await kind.create()
    await (await database.open()).close()
    await migrateBeyond(database, kind)

    const opened = await database.open()
    expect(opened.migrations.applied).toEqual([])
    const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
    afterAll(auth.close)
    const email = 'ada@example.com'
    const account = { name: 'Ada', email, password: TEST_PASSWORD }
    await auth.api.signUpEmail({ ...account, request: request() })
    const { headers } = await auth.api.signInEmail({ email, password: TEST_PASSWORD, request: request() })
    const signedIn = request(cookieOf(headers))
    expect(await auth.api.getSession({ request: signedIn })).toMatchObject({ user: { email } })
    await auth.api.signOut({ request: signedIn })
    expect(await codeOf(auth.api.getSession({ request: signedIn }))).toBe('SESSION_NOT_FOUND')
  })
})
