import type { Reason } from '@sallyport/core'
import { revokeSession } from '@sallyport/core/auth'
import { openPostgres } from '@sallyport/core/postgres'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { postgresKind } from '../../../core/test/support/database-kinds.ts'
import { eventually } from '../../../core/test/support/eventually.ts'
import { hostApp, libraryTables } from '../../../core/test/support/host-tables.ts'
import {
  NO_PGBOUNCER,
  PGBOUNCER,
  type PoolMode,
  startPgBouncer,
} from '../../../core/test/support/pgbouncer.ts'
import { PATIENT, testPostgres } from '../../../core/test/support/postgres.ts'
import { guardedApp } from './guarded-app.ts'

const IS_LONG = process.env.DATABASES === 'all'
const ROUNDS = IS_LONG ? 200 : 10
const SESSIONS = 20

const server = await testPostgres({ max_connections: '200' })
const kind = postgresKind(server)
if (PGBOUNCER === null) console.warn(`Skipped: ${NO_PGBOUNCER}`)

describe.skipIf(PGBOUNCER === null).each<{ mode: PoolMode }>([{ mode: 'session' }, { mode: 'transaction' }])(
  'two nodes through PgBouncer in $mode mode',
  ({ mode }) => {
    test('accept every call of a valid session, and reject the next call after each revocation', async () => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
      onTestFinished(() => warn.mockRestore())
      const database = await kind.create()
      const urlOf = await startPgBouncer(server, mode)
      const url = urlOf(new URL(database.url).pathname.slice(1))
      const nodes = [await openPostgres(url, PATIENT), await openPostgres(url, PATIENT)] as const
      for (const node of nodes) onTestFinished(node.close)
      const [first, second] = nodes.map(({ db }) => guardedApp(db))
      if (first === undefined || second === undefined) throw new TypeError('Two nodes were expected')
      const host = hostApp(database, libraryTables('PostgreSQL'))

      const rejected: Reason[] = []
      const accepted: string[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const sessions = await Promise.all(Array.from({ length: SESSIONS }, host.signUp))
        const calls = sessions.flatMap((session) => [first.call(session), second.call(session)])
        rejected.push(...(await Promise.all(calls)).filter((reason) => reason !== null))
        const [byHand, ...others] = sessions
        if (byHand === undefined) throw new TypeError('Sessions were expected')
        await host.deleteSession(byHand)
        for (const { id } of others.slice(0, 4)) await revokeSession(id, nodes[round % 2 === 0 ? 0 : 1])
        for (const session of [byHand, ...others.slice(0, 4)]) {
          const results = await Promise.all([first.call(session), second.call(session)])
          expect(results.filter((reason) => reason === 'SESSIONS_UNAVAILABLE')).toEqual([])
          if (results.includes(null)) accepted.push(session.id)
        }
      }
      expect(rejected).toEqual([])
      expect(accepted).toEqual([])
      expect(host.failed).toEqual([])

      const watched = await host.signUp()
      const streams = [await first.subscribe(watched), await second.subscribe(watched)]
      await host.deleteSession(watched)
      const reasons = await Promise.all(streams.map(({ ended }) => ended))
      expect(reasons).toEqual(['SESSION_NOT_FOUND', 'SESSION_NOT_FOUND'])

      const warnings = (text: string) => warn.mock.calls.filter(([warning]) => warning.includes(text)).length
      // Each node warns once, and only a node whose statements met another's.
      expect(warnings('prepared statements')).toBeLessThanOrEqual(mode === 'session' ? 0 : nodes.length)
      expect(warnings('prepared statements') > 0).toBe(mode === 'transaction')
      await eventually(() => expect(warnings('on leases alone')).toBe(mode === 'session' ? 0 : nodes.length))
    })
  },
)
