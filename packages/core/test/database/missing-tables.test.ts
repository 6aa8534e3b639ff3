import { createAuth, createSession, defineAuth, revokeSession } from '@sallyport/core/auth'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { consumeToken } from '@sallyport/core/internal/server'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { openPostgres } from '@sallyport/core/postgres'
import { TEST_PASSWORD } from '@sallyport/core/testing'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createTestClock } from '../../src/testing/instruments.ts'
import { createIssuer } from '../support/create-issuer.ts'
import { closeLater, databaseKinds, type OpenDatabase, type TestDatabase } from '../support/database-kinds.ts'
import { PATIENT, PATIENT_SESSION } from '../support/postgres.ts'
import { cookiesAfter, get, post } from '../support/requests.ts'
import { literal, takeLog } from '../support/stored-sessions.ts'
import { until } from '../support/until.ts'
import { createUserMaker } from '../support/user-maker.ts'

const clock = createTestClock()
const { config, signingKeys } = await createIssuer({ now: clock.now, session: PATIENT_SESSION })
const definition = defineAuth({ config, signingKeys, plugins: [emailPassword(), admin()] })
const TABLES = ['audit', 'rate_limit', 'challenge', 'service_token', 'service_call'] as const

describe.each(await databaseKinds({}, { poolSize: 2 }))('$name', ({ name, create }) => {
  const isSqlite = name === 'SQLite'
  const tables = isSqlite ? TABLES : [...TABLES, 'revocation_log' as const]
  let database: TestDatabase
  let opened: OpenDatabase
  let other: OpenDatabase
  let auth: Awaited<ReturnType<typeof createAuth<typeof definition.plugins>>>
  let root: { userId: string; email: string }

  beforeAll(async () => {
    database = await create()
    opened = await database.open()
    other = await database.open()
    auth = await createAuth(definition, opened, { pruneEverySeconds: 0 })
    root = await (await createUserMaker({ database: auth.database, clock }))('admin')
  })

  const signIn = () =>
    auth.handler(post(ENDPOINTS.signInEmail.path, { email: root.email, password: TEST_PASSWORD }))
  const listAudit = (cookie: string) => auth.handler(get(ENDPOINTS.listAudit.path, { cookie }))
  const token = () => ({ service: 'edge', id: crypto.randomUUID(), expiresAt: new Date() })
  const limit = { points: 1, duration: 60 }

  /** Everything that uses our tables, each after the tables were dropped. */
  const uses: [string, () => Promise<void>][] = [
    ['signs in', async () => expect((await signIn()).status).toBe(200)],
    [
      'lists the audit trail',
      async () => {
        const cookie = cookiesAfter('', await signIn())
        expect((await listAudit(cookie)).status).toBe(200)
      },
    ],
    [
      'revokes a session',
      async () => {
        const { id } = await createSession(auth.database, { userId: root.userId, config })
        expect(await revokeSession(id, auth.database)).toBe(true)
      },
    ],
    [
      'counts attempts',
      async () => expect(await opened.limits.consume(crypto.randomUUID(), limit)).toBeNull(),
    ],
    ['consumes a service token', async () => expect(await consumeToken(opened.db, token())).toBe(true)],
    ['prunes', async () => expect(await auth.prune()).toMatchObject({ 'sallyport.audit': 0 })],
  ]
  /** The repair of an earlier test may change it at the same time. */
  async function dropSchema(): Promise<void> {
    try {
      await database.run('drop schema if exists sallyport cascade')
    } catch (error) {
      if (!String(error).includes('concurrently updated')) throw error
      await dropSchema()
    }
  }

  const drops = [
    ...tables.map(
      (table) => [table, () => database.run(`drop table if exists ${database.internal(table)}`)] as const,
    ),
    [
      'all tables',
      async () => {
        for (const table of tables) await database.run(`drop table if exists ${database.internal(table)}`)
      },
    ] as const,
    ...(isSqlite ? [] : [['the schema', dropSchema] as const]),
  ]

  describe.each(drops)('after a tool dropped %s', (_name, drop) => {
    test.each(uses)('%s', async (_what, use) => {
      await drop()
      await use()
    })

    test.skipIf(isSqlite)('the next change of a session is logged', async () => {
      await drop()
      const { id } = await createSession(auth.database, { userId: root.userId, config })
      await opened.db.selectFrom('sallyport.revocation_log').select('seq').execute()
      await takeLog(database)
      await database.run(`delete from session where id = ${literal(id)}`)
      expect(await takeLog(database)).toEqual([[id, root.userId]])
    })

    test('other nodes receive later revocations', async () => {
      const { id } = await createSession(auth.database, { userId: root.userId, config })
      const listener = vi.fn<() => void>()
      onTestFinished(other.revocations.subscribe({ sessionId: id, userId: root.userId }, listener))
      await until(() => !isSqlite || listener.mock.calls.length > 0)
      await drop()
      await opened.db.selectFrom('sallyport.audit').select('id').limit(1).execute()
      if (!isSqlite) await opened.db.selectFrom('sallyport.revocation_log').select('seq').limit(1).execute()
      listener.mockClear()
      await database.run(`delete from session where id = ${literal(id)}`)
      await until(() => listener.mock.calls.length > 0)
    })

    test('a new start repairs it and applies no migration again', async () => {
      await drop()
      const again = await database.open()
      expect(await again.db.selectFrom('sallyport.audit').select('id').execute()).toBeDefined()
      await again.close()
    })
  })

  test.skipIf(isSqlite)('a start waits for the repair of another node', async () => {
    const server = await create()
    const node = await server.open()
    await server.run('drop schema sallyport cascade')
    // The repair stops after its first statement.
    await server.run(`create function pause() returns event_trigger language plpgsql
      as $$ begin perform pg_advisory_xact_lock(1); end $$`)
    await server.run(
      "create event trigger pause on ddl_command_end when tag in ('CREATE SCHEMA') execute function pause()",
    )
    await server.run('select pg_advisory_lock(1)')
    const waiting = (condition: string) => async () =>
      (await server.rows(`select from pg_stat_activity where wait_event_type = 'Lock' and ${condition}`))
        .length > 0
    const repaired = node.db.selectFrom('sallyport.audit').select('id').execute()
    await until(waiting('true'))
    const starting = openPostgres(`${server.url}?application_name=start`, PATIENT).then(closeLater)
    await until(waiting("application_name = 'start'"))
    await server.run('select pg_advisory_unlock(1)')
    expect(await repaired).toEqual([])
    await expect(starting).resolves.toMatchObject({
      migrations: { applied: ['0001_tables'] },
    })
  })

  test('an app that reads its audit trail in a transaction gets 503 at most once', async () => {
    const read = () =>
      opened.db.transaction().execute((trx) => trx.selectFrom('sallyport.audit').select('id').execute())
    await database.run(`drop table if exists ${database.internal('audit')}`)
    await read().catch(() => {})
    expect(await read()).toEqual([])
  })

  test('a missing table of the app is an error as before', async () => {
    const missing = opened.db.$extendTables<{ nowhere: { id: string } }>().selectFrom('nowhere').select('id')
    await expect(missing.execute()).rejects.toThrow(/nowhere/)
  })
})
