import { type AuthDatabase, type Reason, withAuthStore } from '@sallyport/core'
import { openPostgresStore } from '@sallyport/core/postgres'
import { openSqliteStore } from '@sallyport/core/sqlite'
import {
  createAuthContext,
  type DatabaseContext,
  type SensitiveSessionContext,
  sensitiveSessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import Database from 'better-sqlite3'
import { drizzle as drizzleSqlite } from 'drizzle-orm/better-sqlite3'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import * as sqliteCore from 'drizzle-orm/sqlite-core'
import {
  Kysely,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  PostgresDialect,
  sql,
} from 'kysely'
import { Pool } from 'pg'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { PATIENT, testPostgres } from '../../../core/test/support/postgres.ts'
import type { SignedIn } from '../revocation/signed-in-users.ts'
import { outcomeOf, rejectionFor } from '../support/outcome.ts'
import { browser } from '../support/visitor.ts'
import { createPrisma } from './libraries.ts'
import type { App, AppKysely, NoteTables } from './open-app.ts'
import { openForTests, STORES } from './stores.ts'

/** What the test runs in a call: before the locks, and inside the transaction after its write. */
interface Script {
  before?(): Promise<unknown>
  inside?(): Promise<unknown>
}
type Context<Db extends AuthDatabase> = Omit<DatabaseContext, 'db'> & {
  readonly db: Db
  readonly script: Script
}
type Sensitive<Db extends AuthDatabase> = Context<Db> & SensitiveSessionContext

const server = await testPostgres()

/** A client, and the procedure that writes the note. */
type Write = (session: SignedIn, script: Script, signal?: AbortSignal) => Promise<unknown>

const note = pgTable('note', { id: text().primaryKey(), text: text().notNull() })
const sqliteNote = sqliteCore.sqliteTable('note', {
  id: sqliteCore.text().primaryKey(),
  text: sqliteCore.text().notNull(),
})
const mapping = { session: { columns: { version: 'version' } } } as const
const values = ({ session }: SensitiveSessionContext) => ({ id: crypto.randomUUID(), text: session.id })

function procedure<Db extends AuthDatabase>(
  app: App,
  db: Db,
  write: (ctx: Sensitive<Db>) => Promise<unknown>,
): Write {
  const t = initTRPC.context<Context<Db>>().create()
  const router = t.router({
    write: t.procedure.use(sensitiveSessionMiddleware).mutation(async ({ ctx }) => {
      await ctx.script.before?.()
      await write(ctx as Sensitive<Db>)
    }),
  })
  return (session, script, signal) => {
    const { auth } = createAuthContext(app.config).headers(browser(session).headers)
    return router.createCaller({ auth, db, script }, { ...(signal && { signal }) }).write()
  }
}

async function onPostgres(name: string) {
  const url = await server.createDatabase(name)
  const app = await openForTests(url)
  const store = await openPostgresStore(url, { ...PATIENT, mapping })
  const pool = new Pool({ connectionString: url })
  afterAll(async () => {
    await pool.end()
    await store.close()
  })
  return { app, url, store, pool }
}

const CLIENTS: readonly { name: string; open(): Promise<{ app: App; write: Write }> }[] = [
  {
    name: 'Drizzle on node-postgres',
    async open() {
      const { app, pool, store } = await onPostgres('drizzle')
      const db = withAuthStore(drizzle({ client: pool }), store)
      const write = procedure(app, db, (ctx) =>
        ctx.transaction(async (tx) => {
          await tx.insert(note).values(values(ctx))
          await ctx.script.inside?.()
        }),
      )
      return { app, write }
    },
  },
  {
    name: 'Prisma on PostgreSQL',
    async open() {
      const { app, url, store } = await onPostgres('prisma')
      const db = withAuthStore(await createPrisma(url), store)
      const write = procedure(app, db, (ctx) =>
        ctx.transaction(async (tx) => {
          await tx.note.create({ data: values(ctx) })
          await ctx.script.inside?.()
        }),
      )
      return { app, write }
    },
  },
  {
    name: "the app's Kysely on PostgreSQL",
    async open() {
      const { app, pool, store } = await onPostgres('kysely')
      const kysely = new Kysely<NoteTables>({ dialect: new PostgresDialect({ pool }) })
      const write = procedure(app, withAuthStore(kysely, store), (ctx) =>
        ctx.transaction(async (trx) => {
          await trx.insertInto('note').values(values(ctx)).execute()
          await ctx.script.inside?.()
        }),
      )
      return { app, write }
    },
  },
]

const reasonFor = (reason: Reason | null) =>
  reason === null ? null : rejectionFor(reason, { replay: false })

describe.each(CLIENTS)('ctx.transaction with $name', async ({ open }) => {
  const { app, write } = await open()
  afterEach(() => app.db.deleteFrom('note').execute())
  const rejectionOf = async (session: SignedIn, script: Script = {}, signal?: AbortSignal) =>
    (await outcomeOf(write(session, script, signal))).rejection

  test("writes in the client's transaction", async () => {
    const ada = await app.signIn()
    expect(await rejectionOf(ada)).toBeNull()
    expect(await app.notes()).toEqual([ada.sessionId])
  })

  test('rolls back what a failing function wrote, and rethrows its error', async () => {
    const fault = new Error('no funds')
    const writing = write(await app.signIn(), { inside: () => Promise.reject(fault) })
    await expect(writing).rejects.toMatchObject({ cause: fault })
    expect(await app.notes()).toEqual([])
  })

  const changes: [change: string, reason: Reason, make: (session: SignedIn) => Promise<unknown>][] = [
    ['a revocation', 'SESSION_NOT_FOUND', app.revoke],
    ['a ban', 'ACCOUNT_BANNED', app.ban],
    [
      'new credentials',
      'TOKEN_INVALID',
      ({ sessionId }) =>
        app.db.updateTable('session').set({ version: 2 }).where('id', '=', sessionId).execute(),
    ],
  ]
  test.each(changes)('never commits after %s', async (_change, reason, make) => {
    const ada = await app.signIn()
    expect(await rejectionOf(ada, { before: () => make(ada) })).toEqual(reasonFor(reason))
    expect(await app.notes()).toEqual([])
  })

  test('makes a revocation wait until the transaction is over', async () => {
    const ada = await app.signIn()
    const order: string[] = []
    let revoked: Promise<unknown> = Promise.resolve()
    const inside = async () => {
      revoked = app.revoke(ada).then(() => order.push('revoked'))
      for (let turn = 0; turn < 20; turn++) await app.database.sessions.findSession(ada)
      order.push('written')
    }
    expect(await rejectionOf(ada, { inside })).toBeNull()
    await revoked
    expect(order).toEqual(['written', 'revoked'])
  })

  test('writes nothing if the client disconnects meanwhile', async () => {
    const [entered, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const controller = new AbortController()
    const inside = async () => {
      entered.resolve()
      await done.promise
    }
    const rejection = rejectionOf(await app.signIn(), { inside }, controller.signal)
    await entered.promise
    controller.abort()
    expect(await rejection).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' })
    done.resolve()
    // The lock is released after the rollback.
    expect(await rejectionOf(await app.signIn())).toBeNull()
    expect(await app.notes()).toHaveLength(1)
  })
})

describe('ctx.transaction with Drizzle on better-sqlite3', async () => {
  const url = await STORES[0].createDatabase()
  const app = await openForTests(url)
  const store = await openSqliteStore(url, { mapping })
  const client = new Database(url.replace('file:', ''))
  afterAll(async () => {
    client.close()
    await store.close()
  })
  afterEach(() => app.db.deleteFrom('note').execute())
  const db = withAuthStore(drizzleSqlite({ client }), store)
  const write = procedure(app, db, async (ctx) =>
    ctx.transaction((tx) => tx.insert(sqliteNote).values(values(ctx)).run().changes),
  )

  test('writes in its synchronous transaction', async () => {
    const ada = await app.signIn()
    await write(ada, {})
    expect(await app.notes()).toEqual([ada.sessionId])
  })

  test.each([
    ['a revocation', 'SESSION_NOT_FOUND', app.revoke],
    ['a ban', 'ACCOUNT_BANNED', app.ban],
  ] as const)('never commits after %s', async (_change, reason, make) => {
    const ada = await app.signIn()
    const { rejection } = await outcomeOf(write(ada, { before: () => make(ada) }))
    expect(rejection).toEqual(reasonFor(reason))
    expect(await app.notes()).toEqual([])
  })

  test('is 503 while another process writes', async () => {
    client.pragma('busy_timeout = 0')
    const other = new Database(url.replace('file:', ''))
    const ada = await app.signIn()
    other.exec('begin immediate')
    const { rejection } = await outcomeOf(write(ada, {}))
    other.close()
    expect(rejection).toEqual(reasonFor('SESSIONS_UNAVAILABLE'))
  })

  test('rejects an async function, and none of its statements commits', async () => {
    const awaiting = procedure(app, db, async (ctx) =>
      // @ts-expect-error the function must be synchronous
      ctx.transaction(async (tx) => {
        await tx.insert(sqliteNote).values(values(ctx))
        tx.insert(sqliteNote).values(values(ctx)).run()
      }),
    )
    await expect(awaiting(await app.signIn(), {})).rejects.toThrow('are synchronous')
    await new Promise((resolve) => setImmediate(resolve))
    expect(await app.notes()).toEqual([])
  })
})

test('ctx.db that a later middleware has replaced by a Prisma client with a model `Transaction`', async () => {
  const url = await server.createDatabase('replaced')
  const app = await openForTests(url)
  const prisma = await createPrisma(url)
  const t = initTRPC.context<Context<AppKysely>>().create()
  const write = t.procedure
    .use(sensitiveSessionMiddleware)
    .use(({ next }) => next({ ctx: { db: prisma } }))
    .mutation(({ ctx }) =>
      ctx.transaction(async (tx) => {
        await tx.note.create({ data: values(ctx) })
      }),
    )
  const ada = await app.signIn()
  const { auth } = createAuthContext(app.config).headers(browser(ada).headers)
  await t.router({ write }).createCaller({ auth, db: app.db, script: {} }).write()
  expect(await app.notes()).toEqual([ada.sessionId])
})

/** Renames a column of the results, to show which client ran the statement. */
class CapitalPlugin implements KyselyPlugin {
  readonly transformQuery = ({ node }: PluginTransformQueryArgs) => node
  async transformResult({ result }: PluginTransformResultArgs) {
    const rows = result.rows.map(({ text, ...row }) => (text === undefined ? row : { ...row, TEXT: text }))
    return { ...result, rows }
  }
}

describe.each(STORES)(
  'ctx.db that a later middleware has replaced, in $engine',
  async ({ createDatabase }) => {
    const app = await openForTests(await createDatabase())
    afterEach(() => app.db.deleteFrom('note').execute())

    const t = initTRPC.context<Context<AppKysely>>().create()
    const router = t.router({
      write: t.procedure
        .use(sensitiveSessionMiddleware)
        .use(({ ctx, next }) => next({ ctx: { db: ctx.db.withPlugin(new CapitalPlugin()) } }))
        .mutation(async ({ ctx }) => {
          await ctx.script.before?.()
          return ctx.transaction(async (trx) => {
            await trx.insertInto('note').values(values(ctx)).execute()
            await ctx.script.inside?.()
            return trx.selectFrom('note').select('text').execute()
          })
        }),
    })
    const write = (session: SignedIn, script: Script = {}) => {
      const { auth } = createAuthContext(app.config).headers(browser(session).headers)
      return router.createCaller({ auth, db: app.db, script }).write()
    }

    test('runs the transaction', async () => {
      const ada = await app.signIn()
      expect(await write(ada)).toEqual([{ TEXT: ada.sessionId }])
    })

    test('never commits after a revocation', async () => {
      const ada = await app.signIn()
      const { rejection } = await outcomeOf(write(ada, { before: () => app.revoke(ada) }))
      expect(rejection).toEqual(reasonFor('SESSION_NOT_FOUND'))
      expect(await app.notes()).toEqual([])
    })

    test('ends a function that never returns, such as one that waits for its own transaction', async () => {
      const ada = await app.signIn()
      const inside = () => new Promise<never>(() => {})
      expect((await outcomeOf(write(ada, { inside }))).rejection).toEqual(reasonFor('SESSIONS_UNAVAILABLE'))
      expect((await outcomeOf(write(ada))).rejection).toBeNull()
      expect(await app.notes()).toEqual([ada.sessionId])
    })

    const writeWith = async (session: SignedIn, replaced: object) => {
      const { auth } = createAuthContext(app.config).headers(browser(session).headers)
      const write = t.procedure
        .use(sensitiveSessionMiddleware)
        .use(({ next }) => next({ ctx: { db: replaced } }))
        .mutation(({ ctx }) =>
          ctx.transaction(async (trx) => {
            await sql`insert into note (id, text) values (${ctx.session.id}, 'written')`.execute(trx)
          }),
        )
      return t.router({ write }).createCaller({ auth, db: app.db, script: {} }).write()
    }

    test("has Sallyport's own transaction if it has none, as its type says", async () => {
      await writeWith(await app.signIn(), { find: () => {} })
      expect(await app.notes()).toEqual(['written'])
    })

    test('is a mistake of the app if it is an open transaction, not an outage', async () => {
      const ada = await app.signIn()
      await app.db.transaction().execute(async (trx) => {
        await expect(writeWith(ada, trx)).rejects.toThrow('call lockSession() first in its transaction')
      })
    })
  },
)
