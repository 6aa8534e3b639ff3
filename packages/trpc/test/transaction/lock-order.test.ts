import { lockSession } from '@sallyport/core/postgres'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { SignedIn } from '../revocation/people.ts'
import { soon } from '../support/soon.ts'
import { call, contextOf, openForTests, postgresUrl } from './stores.ts'

const app = await openForTests(await postgresUrl())

/** Each runs a function after the session has been locked. */
const ways: { way: string; run: (session: SignedIn, inside: () => Promise<unknown>) => Promise<unknown> }[] =
  [
    {
      way: 'ctx.transaction',
      async run(session, inside) {
        const { refusal } = await call('write', contextOf(app, session, { inside }))
        expect(refusal).toBeNull()
      },
    },
    {
      way: 'lockSession',
      run: (session, inside) =>
        app.db.transaction().execute(async (trx) => {
          await lockSession((...query) => sql(...query).execute(trx), session, { now: app.config.now })
          await inside()
        }),
    },
  ]

/** Whether others may lock this row at this moment. */
async function isFree(table: 'user' | 'session', id: string, lock: 'share' | 'key share'): Promise<boolean> {
  try {
    await sql`select 1 from ${sql.table(table)} where id = ${id} for ${sql.raw(lock)} nowait`.execute(app.db)
    return true
  } catch (error) {
    expect(error).toMatchObject({ cause: { code: '55P03' } })
    return false
  }
}

describe.each(ways)('$way', ({ run }) => {
  test('locks the user before the session', async () => {
    const ada = await app.signIn()
    let isInside = false
    const { promise: written, resolve } = Promise.withResolvers<unknown>()
    await app.db.transaction().execute(async (trx) => {
      const user = trx.selectFrom('user').select('id').where('id', '=', ada.userId)
      await user.forNoKeyUpdate().execute()
      const inside = async () => {
        isInside = true
      }
      resolve(run(ada, inside))
      await soon(async () => {
        const { rows } = await sql`select 1 from pg_locks where not granted`.execute(trx)
        expect(rows).toHaveLength(1)
      })
      expect(await isFree('session', ada.sessionId, 'share')).toBe(true)
      expect(isInside).toBe(false)
    })
    await written
    expect(isInside).toBe(true)
  })

  test('locks both for no key update: nobody changes them, and rows that refer to them are still written', async () => {
    const ada = await app.signIn()
    await run(ada, async () => {
      for (const [lock, isExpected] of [
        ['share', false],
        ['key share', true],
      ] as const) {
        expect(await isFree('user', ada.userId, lock)).toBe(isExpected)
        expect(await isFree('session', ada.sessionId, lock)).toBe(isExpected)
      }
    })
  })
})
