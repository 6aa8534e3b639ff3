import { createClient } from '@libsql/client'
import { isAuthError, type Reason } from '@sallyport/core'
import * as postgres from '@sallyport/core/postgres'
import * as sqlite from '@sallyport/core/sqlite'
import { drizzle } from 'drizzle-orm/libsql'
import { sql as drizzleSql } from 'drizzle-orm/sql'
import { sql } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { testPostgres } from '../../../core/test/support/postgres.ts'
import { insertSignedIn, type SignedIn } from '../revocation/signed-in-users.ts'
import { type OwnTransactions, withDrizzle, withKysely, withPrisma } from './libraries.ts'
import type { App } from './open-app.ts'
import { openForTests, STORES } from './stores.ts'

interface Case {
  readonly library: string
  readonly lockSession: postgres.LockSession
  open(): Promise<{ app: App; transaction: OwnTransactions }>
}

const server = await testPostgres()

async function onPostgres(name: string, library: (url: string) => Promise<OwnTransactions>) {
  const url = await server.createDatabase(name)
  const app = await openForTests(url)
  return { app, transaction: await library(url) }
}

const CASES: readonly Case[] = [
  {
    library: 'Kysely',
    lockSession: postgres.lockSession,
    open: () => onPostgres('kysely', withKysely),
  },
  {
    library: 'Drizzle',
    lockSession: postgres.lockSession,
    open: () => onPostgres('drizzle', withDrizzle),
  },
  {
    library: 'Prisma',
    lockSession: postgres.lockSession,
    open: () => onPostgres('prisma', withPrisma),
  },
  {
    library: 'Kysely on SQLite',
    lockSession: sqlite.lockSession,
    async open() {
      const app = await openForTests(await STORES[0].createDatabase())
      const transaction: OwnTransactions = (work) =>
        app.db.transaction().execute((trx) =>
          work({
            execute: (...query) => sql(...query).execute(trx),
            write: (text) => trx.insertInto('note').values({ id: crypto.randomUUID(), text }).execute(),
          }),
        )
      return { app, transaction }
    },
  },
]

describe.each(CASES)('lockSession in a transaction of $library', async ({ lockSession, open }) => {
  const { app, transaction } = await open()
  afterEach(() => app.db.deleteFrom('note').execute())

  const write = (session: SignedIn, during: () => Promise<unknown> = async () => {}) =>
    transaction(async ({ execute, write }) => {
      const locked = await lockSession(execute, session, { now: app.config.now })
      await write(session.sessionId)
      await during()
      return locked
    })
  const reasonOf = async (writing: Promise<unknown>) => {
    try {
      await writing
      return null
    } catch (error) {
      if (isAuthError(error)) return error.reason
      throw error
    }
  }

  test('reads what Step 2 reads', async () => {
    const ada = await app.signIn('admin')
    const banExpires = new Date(app.config.now().getTime() - 1)
    await app.db
      .updateTable('user')
      .set({ name: 'Ada', banned: true, banReason: 'spam', banExpires })
      .where('id', '=', ada.userId)
      .execute()
    const locked = await write(ada)
    expect({ ...locked, ban: { until: banExpires } }).toEqual(await app.database.sessions.findSession(ada))
    expect(locked.user).toMatchObject({ name: 'Ada', role: 'admin' })
    expect(await app.notes()).toEqual([ada.sessionId])
  })

  const cases: {
    name: string
    change: (session: SignedIn) => Promise<unknown>
    reason: Reason | null
  }[] = [
    { name: 'a valid session', change: async () => {}, reason: null },
    { name: 'a revoked session', change: app.revoke, reason: 'SESSION_NOT_FOUND' },
    {
      name: 'an expired session',
      change: ({ sessionId }) =>
        app.db
          .updateTable('session')
          .set({ expiresAt: app.config.now() })
          .where('id', '=', sessionId)
          .execute(),
      reason: 'SESSION_EXPIRED',
    },
    { name: "a banned user's session", change: app.ban, reason: 'ACCOUNT_BANNED' },
    {
      name: 'a session with replaced credentials',
      change: ({ sessionId }) =>
        app.db.updateTable('session').set({ version: 2 }).where('id', '=', sessionId).execute(),
      reason: 'TOKEN_INVALID',
    },
    {
      name: "another issuer's session",
      change: ({ sessionId }) =>
        app.db
          .updateTable('session')
          .set({ issuer: 'https://id.example.com' })
          .where('id', '=', sessionId)
          .execute(),
      reason: 'TOKEN_INVALID',
    },
    {
      name: "a deleted user's session",
      change: ({ userId }) => app.db.deleteFrom('user').where('id', '=', userId).execute(),
      reason: 'SESSION_NOT_FOUND',
    },
  ]
  test.each(cases)('$name: $reason', async ({ change, reason }) => {
    const ada = await app.signIn()
    await change(ada)
    expect(await reasonOf(write(ada))).toBe(reason)
    expect(await app.notes()).toEqual(reason === null ? [ada.sessionId] : [])
  })

  test("doesn't find another user's session", async () => {
    const [ada, eve] = [await app.signIn(), await app.signIn()]
    const mixed = { ...ada, userId: eve.userId }
    expect(await reasonOf(write(mixed))).toBe('SESSION_NOT_FOUND')
  })

  test.each([
    ['a revocation', app.revoke],
    ['a ban', app.ban],
    [
      'a plain delete of the row',
      ({ sessionId }: SignedIn) => app.db.deleteFrom('session').where('id', '=', sessionId).execute(),
    ],
  ])('makes %s wait until the transaction is over', async (_name, revoke) => {
    const ada = await app.signIn()
    const order: string[] = []
    let revoked: Promise<unknown> = Promise.resolve()
    await write(ada, async () => {
      revoked = revoke(ada).then(() => order.push('revoked'))
      for (let turn = 0; turn < 20; turn++) await app.database.sessions.findSession(ada)
      order.push('written')
    })
    await revoked
    expect(order).toEqual(['written', 'revoked'])
  })

  test("uses another library's column names as the store has them", async () => {
    const ada = await app.signIn()
    await sql`create table if not exists people (uid text, is_blocked integer)`.execute(app.db)
    await sql`create table if not exists logins (sid text, uid text, ends bigint)`.execute(app.db)
    const ends = Math.floor(app.config.now().getTime() / 1000) + 60
    await sql`insert into people values (${ada.userId}, 0)`.execute(app.db)
    await sql`insert into logins values (${ada.sessionId}, ${ada.userId}, ${ends})`.execute(app.db)
    const mapping: postgres.StoreMapping = {
      dates: 'seconds',
      session: {
        table: 'logins',
        columns: { id: 'sid', userId: 'uid', expiresAt: 'ends', lastAuthenticatedAt: null },
      },
      user: {
        table: 'people',
        columns: {
          id: 'uid',
          name: null,
          email: null,
          role: null,
          banned: 'is_blocked',
          banExpires: null,
        },
      },
    }
    const lock = () =>
      transaction(({ execute }) => lockSession(execute, ada, { now: app.config.now, mapping }))
    expect(await lock()).toMatchObject({ expiresAt: new Date(ends * 1000), ban: null })
    await sql`update people set is_blocked = 1 where uid = ${ada.userId}`.execute(app.db)
    expect(await reasonOf(lock())).toBe('ACCOUNT_BANNED')
  })

  test('rejects an execute that returns no rows with a clear error', async () => {
    const ada = await app.signIn()
    const fault = transaction(() => lockSession(async () => undefined, ada))
    await expect(fault).rejects.toThrow('lockSession: execute must return the rows')
  })

  test.runIf(lockSession === postgres.lockSession)('rejects an execute outside a transaction', async () => {
    const ada = await app.signIn()
    const outside = lockSession((...query) => sql(...query).execute(app.db), ada)
    await expect(outside).rejects.toThrow('lockSession: the statements ran outside a transaction')
  })

  test("is 503 if the session can't be read", async () => {
    const ada = await app.signIn()
    const broken = () => Promise.reject(new Error('the connection is gone'))
    expect(await reasonOf(transaction(() => lockSession(broken, ada)))).toBe('SESSIONS_UNAVAILABLE')
  })
})

test('lockSession runs the statements of Drizzle on SQLite', async () => {
  const client = createClient({ url: await STORES[0].createDatabase() })
  const database = await sqlite.openSqlite({ client })
  const [ada] = await insertSignedIn(database.db, 1, { issuer: await createIssuer() })
  if (ada === undefined) throw new TypeError('One was expected')
  const locked = await drizzle(client).transaction((tx) =>
    sqlite.lockSession((...query) => tx.all(drizzleSql(...query)), ada),
  )
  expect(locked).toMatchObject({ id: ada.sessionId, userId: ada.userId })
  await database.close()
  client.close()
})
