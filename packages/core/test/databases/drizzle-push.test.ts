import { createAuth, defineAuth } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { drizzleFile } from '../../src/cli/generate/drizzle-file.ts'
import { schemaTables } from '../../src/cli/generate/schema-tables.ts'
import type { Tables } from '../../src/database/schema/table.ts'
import { createIssuer } from '../support/create-issuer.ts'
import { sqliteKind, type TestDatabase } from '../support/database-kinds.ts'
import { type DrizzleApp, drizzleApp } from '../support/drizzle-app.ts'
import { hostApp, libraryTables } from '../support/host-tables.ts'
import { cookiesAfter, get, post } from '../support/requests.ts'
import { literal, storeSession } from '../support/stored-sessions.ts'
import { until } from '../support/until.ts'

const { config, signingKeys } = await createIssuer()
const definition = defineAuth({ config, signingKeys, plugins: [emailPassword()] })
const sqlite = sqliteKind()

/** The app's schema, in which our internal tables are missing. */
async function schemaOf({ isChanged }: { isChanged: boolean }): Promise<string> {
  const { tables } = await schemaTables(definition.plugins, { schema: 'drizzle', dialect: 'sqlite' })
  const { session, ...others } = Object.fromEntries(
    Object.entries(tables).filter(([name]) => !name.startsWith('sallyport_')),
  )
  if (session === undefined) throw new Error('There is no table of sessions')
  const userAgent = { type: 'text', isNullable: true, default: 'unknown' } as const
  const changed = { ...session, columns: { ...session.columns, userAgent } }
  const all: Tables = { ...others, session: isChanged ? changed : session }
  return drizzleFile(all, 'sqlite')
}

/**
 * Pushes until all tables are as in the schema. drizzle-kit 0.31 creates the indexes of a rebuilt table
 * twice, and fails after each such table, also in an app without this library.
 */
async function push(app: DrizzleApp): Promise<void> {
  const output = await app.push().catch((error: Error) => error.message)
  if (/index \w+ already exists/.test(output)) return push(app)
  expect(output).toMatch(/Changes applied|No changes/)
}

async function internalTables({ rows }: TestDatabase): Promise<unknown[]> {
  const query = `select name from sqlite_schema where type = 'table' and name like 'sallyport_%'`
  return (await rows(query)).map(({ name }) => name)
}

const CASES = [
  { when: 'before and after we migrate the file', isFirst: true, isChanged: false },
  { when: 'before and after we migrate the file, with a changed column', isFirst: true, isChanged: true },
  { when: 'after we migrate the file', isFirst: false, isChanged: false },
  { when: 'after we migrate the file, with a changed column', isFirst: false, isChanged: true },
]

// `pnpm test:databases` runs all.
const cases = CASES.filter(
  ({ isFirst, isChanged }) => (!isFirst && isChanged) || process.env.DATABASES === 'all',
)

test.each(cases)(
  'drizzle-kit push $when drops our internal tables and breaks nothing',
  async ({ isFirst, isChanged }) => {
    const database = await sqlite.create()
    const app = drizzleApp(database.url, await schemaOf({ isChanged: false }))
    const host = hostApp(database, libraryTables('SQLite'))
    if (isFirst) await push(app)
    const opened = await database.open()
    const auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
    onTestFinished(auth.close)

    const credentials = { email: 'ada@example.com', password: TEST_PASSWORD }
    const { path } = ENDPOINTS.signInEmail
    const signIn = async () => cookiesAfter('', await auth.handler(post(path, credentials)))
    const statusOf = async (cookie: string) =>
      (await auth.handler(get(ENDPOINTS.getSession.path, { cookie }))).status
    await auth.handler(post(ENDPOINTS.signUpEmail.path, { ...credentials, name: 'Ada' }))
    const before = await signIn()
    const watched = await storeSession(database)
    const listener = vi.fn<() => void>()
    onTestFinished(opened.revocations.subscribe(watched, listener))
    await until(() => listener.mock.calls.length === 1)

    if (isChanged) app.write(await schemaOf({ isChanged: true }))
    await push(app)
    expect(await internalTables(database)).toEqual([])
    await host.runAll()
    expect(host.failed).toEqual([])
    expect([await statusOf(before), await statusOf(await signIn())]).toEqual([200, 200])
    expect(await internalTables(database)).toEqual(
      expect.arrayContaining(['sallyport_audit', 'sallyport_rate_limit']),
    )
    // Rebuilt tables have the same rows.
    expect(await opened.sessions.findSession(watched)).toMatchObject({ id: watched.sessionId })
    listener.mockClear()
    await database.run(`delete from session where id = ${literal(watched.sessionId)}`)
    await until(() => listener.mock.calls.length > 0)
    expect(await opened.sessions.findSession(watched)).toBeNull()

    await push(app)
    await (await database.open()).close()
    await host.runAll()
    expect(host.failed).toEqual([])
    expect([await statusOf(before), await statusOf(await signIn())]).toEqual([200, 200])
  },
)
