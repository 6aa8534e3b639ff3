import { type AuthDatabase, withAuthStore } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import { type AuthTables, openSqlite } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import {
  createAuthContext,
  createSensitiveSessionMiddleware,
  type DatabaseContext,
  requireRole,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { drizzle } from 'drizzle-orm/node-postgres'
import type { Kysely, Transaction } from 'kysely'
import { afterAll, describe, expect, expectTypeOf, test } from 'vitest'
import { browser } from '../support/visitor.ts'
import type { NoteTables } from './open-app.ts'

interface Context extends DatabaseContext {
  readonly db: Kysely<AuthTables & NoteTables> & AuthDatabase
}
const t = initTRPC.context<Context>().create()

const auth = await createTestAuth()
const own = await openSqlite<NoteTables>(':memory:')
const db = withAuthStore(own.db, {
  ...own.db[authStore],
  sessions: auth.database.sessions,
  database: auth.database,
})
afterAll(async () => {
  await own.close()
  await auth.close()
})
const contextOf = async () =>
  createAuthContext(auth.config).headers(browser(await auth.signIn({ role: 'admin' })).headers)

describe('the transaction of a sensitive procedure', () => {
  test.each([
    { name: 'sensitiveSessionMiddleware', middleware: sensitiveSessionMiddleware },
    {
      name: 'createSensitiveSessionMiddleware()',
      middleware: createSensitiveSessionMiddleware({ maxAge: 60 }),
    },
  ])('has the tables of ctx.db: $name', async ({ middleware }) => {
    const router = t.router({
      write: t.procedure
        .use(middleware)
        .use(requireRole('admin'))
        .use(({ ctx, next }) => next({ ctx: { requestId: ctx.session.id } }))
        .mutation(async ({ ctx }) => {
          const written = await ctx.transaction(async (trx) => {
            expectTypeOf(trx).toEqualTypeOf<Transaction<AuthTables & NoteTables>>()
            // @ts-expect-error there is no such table
            expect(() => trx.insertInto('transfer')).not.toThrow()
            return 7
          })
          expectTypeOf(written).toEqualTypeOf<number>()
          return written
        }),
    })
    expect(
      await t
        .createCallerFactory(router)({ ...(await contextOf()), db })
        .write(),
    ).toBe(7)
  })

  test('has our tables where ctx.db is that of another library', async () => {
    const other = withAuthStore(drizzle.mock(), db[authStore])
    const withDrizzle = initTRPC.context<DatabaseContext & { db: typeof other }>().create()
    const router = withDrizzle.router({
      write: withDrizzle.procedure.use(sensitiveSessionMiddleware).mutation(({ ctx }) =>
        ctx.transaction(async (trx) => {
          expectTypeOf(trx).toEqualTypeOf<Transaction<AuthTables>>()
          return 7
        }),
      ),
    })
    const context = { ...(await contextOf()), db: other }
    expect(await withDrizzle.createCallerFactory(router)(context).write()).toBe(7)
  })

  test('is not there after sessionMiddleware', () => {
    t.procedure.use(sessionMiddleware).mutation(({ ctx }) => {
      // @ts-expect-error only sensitive procedures have it
      return ctx.transaction(async () => 7)
    })
  })

  test('is called on ctx, whose db says which tables there are', () => {
    t.procedure.use(sensitiveSessionMiddleware).mutation(({ ctx: { transaction } }) =>
      // @ts-expect-error of which ctx?
      transaction(async () => 7),
    )
  })
})
