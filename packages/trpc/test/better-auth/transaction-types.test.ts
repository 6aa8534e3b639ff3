import { sensitiveSessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type SqliteDatabase from 'better-sqlite3'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Kysely, Transaction } from 'kysely'
import type { Pool } from 'pg'
import { expectTypeOf, test } from 'vitest'
import { guard } from './app/guard.ts'

interface Tables {
  readonly note: { readonly id: string }
}

/** A procedure whose `ctx.db` is a client of this type. */
function procedureOf<Client extends object>() {
  const createContext = (client: Client) => ({ ...guard.headers({}), db: guard.attach(client) })
  const t = initTRPC.context<ReturnType<typeof createContext>>().create()
  return t.procedure.use(sensitiveSessionMiddleware)
}

test('trx is the transaction of the client', () => {
  procedureOf<Kysely<Tables>>().mutation(({ ctx }) =>
    ctx.transaction(async (trx) => expectTypeOf(trx).toEqualTypeOf<Transaction<Tables>>()),
  )
  procedureOf<NodePgDatabase>().mutation(({ ctx }) =>
    ctx.transaction(async (trx) => {
      expectTypeOf(trx.rollback).toBeFunction()
      return trx.execute('select 1')
    }),
  )
  procedureOf<LibSQLDatabase>().mutation(({ ctx }) => ctx.transaction(async (trx) => trx.run('select 1')))
  procedureOf<BetterSQLite3Database>().mutation(({ ctx }) => ctx.transaction((trx) => trx.run('select 1')))
})

test('a client without transactions that we know has none', () => {
  procedureOf<Pool>().mutation(({ ctx }) => {
    // @ts-expect-error a pool isn't Kysely, Drizzle, or Prisma
    return ctx.transaction(async () => 1)
  })
  procedureOf<SqliteDatabase.Database>().mutation(({ ctx }) => {
    // @ts-expect-error nor is the driver of SQLite
    return ctx.transaction(() => 1)
  })
})
