import type { Reason } from '@sallyport/core'
import { openPostgres } from '@sallyport/core/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { postgresKind } from '../../../core/test/support/database-kinds.ts'
import { hostApp, libraryTables } from '../../../core/test/support/host-tables.ts'
import { PATIENT, testPostgres } from '../../../core/test/support/postgres.ts'
import { startProxy } from '../../../core/test/support/tcp-proxy.ts'
import { guardedApp } from './guarded-app.ts'

const IS_LONG = process.env.DATABASES === 'all'
const CALLS = 100
const server = await testPostgres()
const kind = postgresKind(server)

test.each(IS_LONG ? [40, 80, 150] : [40])(
  `${CALLS} calls at once on a cold pool, %i ms from the database, are all accepted`,
  async (roundTripMs) => {
    const database = await kind.create()
    const host = hostApp(database, libraryTables('PostgreSQL'))
    await (await database.open()).close()
    const sessions = await Promise.all(Array.from({ length: CALLS }, host.signUp))
    const url = new URL(database.url)
    const proxy = await startProxy(server.port, { delayMs: roundTripMs / 2 })
    url.port = String(proxy.port)
    const opened = await openPostgres(url.href, PATIENT)
    onTestFinished(opened.close)

    const app = guardedApp(opened.db)
    // The first half only reads the session, the second half also runs a statement on the pool.
    const readUser = ({ userId }: { userId: string }) =>
      opened.db.selectFrom('user').select('id').where('id', '=', userId).executeTakeFirstOrThrow()
    const calls = sessions.map(async (session, i): Promise<Reason | null> => {
      if (i % 2 === 0) return app.call(session)
      return app.call(session, () => readUser(session))
    })
    expect((await Promise.all(calls)).filter((reason) => reason !== null)).toEqual([])
    expect(host.failed).toEqual([])
  },
)
