import { type AuthDatabase, type Reason, withAuthStore } from '@sallyport/core'
import { openPostgresStore } from '@sallyport/core/postgres'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { postgresKind, type TestDatabase } from '../../../core/test/support/database-kinds.ts'
import { eventually } from '../../../core/test/support/eventually.ts'
import { betterAuthSql, betterAuthTables, hostApp } from '../../../core/test/support/host-tables.ts'
import { NO_PGBOUNCER, PGBOUNCER, startPgBouncer } from '../../../core/test/support/pgbouncer.ts'
import { PATIENT, testPostgres } from '../../../core/test/support/postgres.ts'
import { type GuardedApp, guardedApp } from './guarded-app.ts'

const IS_LONG = process.env.DATABASES === 'all'
const REVOCATIONS = IS_LONG ? 10_000 : 100
const STREAMS = IS_LONG ? 500 : 10
const AT_ONCE = 20

/** Generous: streams end within their lease of 5 s, but the machine may be busy. */
const MAX_STREAM_MS = 20_000

const server = await testPostgres({ max_connections: '200' })
const kind = postgresKind(server)
const tables = betterAuthTables('PostgreSQL')
if (PGBOUNCER === null) console.warn(`Skipped: ${NO_PGBOUNCER}`)

afterEach(() => vi.restoreAllMocks())

const SERVERS: readonly {
  name: string
  isSkipped: boolean
  urlOf(database: TestDatabase): Promise<string>
}[] = [
  {
    name: 'a role without the right to create triggers or schemas',
    isSkipped: false,
    async urlOf({ run, url }) {
      await run(`
        create role reader login password 'reader';
        grant select on "user", session to reader`)
      return Object.assign(new URL(url), { username: 'reader', password: 'reader' }).href
    },
  },
  {
    name: 'PgBouncer in transaction mode, which never delivers a notification',
    // Waits for another lease.
    isSkipped: PGBOUNCER === null || !IS_LONG,
    urlOf: async ({ url }) => (await startPgBouncer(server, 'transaction'))(new URL(url).pathname.slice(1)),
  },
]

describe.each(SERVERS)('on leases alone, with $name', ({ isSkipped, urlOf }) => {
  test.skipIf(isSkipped)(
    `no call is accepted after any of ${REVOCATIONS} revocations, and streams end within the lease`,
    { timeout: 60_000 + REVOCATIONS * 100 },
    async () => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
      const database = await kind.create()
      await database.run(betterAuthSql('PostgreSQL'))
      const url = await urlOf(database)
      const open = async (): Promise<GuardedApp> => {
        const store = await openPostgresStore(url, { ...PATIENT, mapping: tables.mapping ?? {} })
        onTestFinished(store.close)
        const db: AuthDatabase = withAuthStore({}, store)
        return guardedApp(db)
      }
      const nodes = [await open(), await open()]
      const host = hostApp(database, tables)
      const callAll = (session: Parameters<GuardedApp['call']>[0]) =>
        Promise.all(nodes.map((node) => node.call(session)))

      // Streams on both nodes, of sessions that are revoked at the end.
      const survivor = await host.signUp()
      const surviving = await Promise.all(nodes.map((node) => node.subscribe(survivor)))
      const watched = await Promise.all(Array.from({ length: STREAMS }, host.signUp))
      const streams = await Promise.all(
        watched.flatMap((session) => nodes.map((node) => node.subscribe(session))),
      )

      const before: (Reason | null)[] = []
      const after: (Reason | null)[] = []
      let left = REVOCATIONS
      async function work(): Promise<void> {
        while (left-- > 0) {
          const session = await host.signUp()
          before.push(...(await callAll(session)))
          await host.deleteSession(session)
          after.push(...(await callAll(session)))
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      expect(before.filter((reason) => reason !== null)).toEqual([])
      expect(after.filter((reason) => reason !== 'SESSION_NOT_FOUND')).toEqual([])
      expect(after).toHaveLength(2 * REVOCATIONS)
      expect(streams.filter(({ reason }) => reason !== null)).toEqual([])

      const revokedAt = performance.now()
      for (const session of watched) await host.deleteSession(session)
      const reasons = await Promise.all(streams.map(({ ended }) => ended))
      expect(performance.now() - revokedAt).toBeLessThan(MAX_STREAM_MS)
      expect(new Set(reasons)).toEqual(new Set(['SESSION_NOT_FOUND']))
      expect(surviving.map(({ reason }) => reason)).toEqual([null, null])
      expect(await callAll(survivor)).toEqual([null, null])
      expect(host.failed).toEqual([])

      const warnings = () => warn.mock.calls.filter(([text]) => /lease of 5 seconds/.test(String(text)))
      await eventually(() => expect(warnings(), 'each node warns once').toHaveLength(nodes.length))
    },
  )
})
