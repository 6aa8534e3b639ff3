import { neon } from '@neondatabase/serverless'
import { type AuthDatabase, withAuthStore } from '@sallyport/core'
import { createAuth, defineAuth, issueJwt } from '@sallyport/core/auth'
import { openPostgres, openPostgresStore, type PostgresReader } from '@sallyport/core/postgres'
import { openSqlite, openSqliteStore, type SqliteReader } from '@sallyport/core/sqlite'
import { createAuthContext, type DatabaseContext, sensitiveSessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import { Miniflare } from 'miniflare'
import { afterAll, expect, expectTypeOf, test } from 'vitest'
import { createIssuer } from '../../../core/test/support/create-issuer.ts'
import { postgresKind } from '../../../core/test/support/database-kinds.ts'
import { startNeonHttpStub } from '../../../core/test/support/neon-http-stub.ts'
import { PATIENT, PATIENT_SESSION, testPostgres } from '../../../core/test/support/postgres.ts'
import { browser } from '../support/visitor.ts'

const { config, key, signingKeys } = await createIssuer({
  session: PATIENT_SESSION,
})
const definition = defineAuth({ config, signingKeys })

const session = { id: 's', userId: 'u', expiresAt: new Date(Date.now() + 3_600_000) }
const STATEMENTS = [
  `create table "user" (id text primary key, name text, email text)`,
  `create table session (id text primary key, "userId" text, "expiresAt" bigint)`,
  `insert into "user" values ('u', 'Ada', 'ada@example.com')`,
  `insert into session values ('s', 'u', ${session.expiresAt.getTime()})`,
]
const mapping = {
  session: { columns: { lastAuthenticatedAt: null } },
  user: { columns: { role: null, banned: null, banExpires: null } },
  dates: 'milliseconds',
} as const

interface Context extends DatabaseContext {
  readonly db: AuthDatabase<SqliteReader | PostgresReader>
}
const t = initTRPC.context<Context>().create()
const router = t.router({
  read: t.procedure.use(sensitiveSessionMiddleware).query(({ ctx }) => ctx.user.name),
  write: t.procedure.use(sensitiveSessionMiddleware).mutation(({ ctx }) =>
    // @ts-expect-error the client has no interactive transactions
    ctx.transaction(async () => {}),
  ),
})

async function expectOnlyGuards(store: SqliteReader | PostgresReader): Promise<void> {
  const { token } = await issueJwt(session, { key, config })
  const { headers } = browser({ cookie: `${config.cookies.jwt}=${token}` })
  const db = withAuthStore({}, store)
  const caller = router.createCaller({ ...createAuthContext(config).headers(headers), db })
  expect(await caller.read()).toBe('Ada')
  await expect(caller.write()).rejects.toThrow('a store with transactions')
  // @ts-expect-error the endpoints need transactions
  expect(() => createAuth(definition, store)).toBeTypeOf('function')
  expect(store).not.toHaveProperty('revokeSessions')
}

test('Cloudflare D1 guards calls, without ctx.transaction and without our endpoints', async () => {
  const worker = new Miniflare({ modules: true, script: 'export default {}', d1Databases: { DB: 'app' } })
  afterAll(() => worker.dispose())
  const client = await worker.getD1Database('DB')
  for (const statement of STATEMENTS) await client.prepare(statement).run()
  const store = await openSqliteStore({ client }, { mapping })
  afterAll(store.close)
  expectTypeOf(store).toEqualTypeOf<SqliteReader>()
  await expectOnlyGuards(store)
  // @ts-expect-error the endpoints need transactions
  expect(() => openSqlite({ client })).toBeTypeOf('function')
})

test('neon() over HTTP guards calls, without ctx.transaction and without our endpoints', async () => {
  const database = await postgresKind(await testPostgres()).create()
  for (const statement of STATEMENTS) await database.run(statement)
  afterAll(await startNeonHttpStub(database.url))
  const pool = neon(database.url)
  const store = await openPostgresStore({ pool }, { ...PATIENT, mapping })
  afterAll(store.close)
  expectTypeOf(store).toEqualTypeOf<PostgresReader>()
  await expectOnlyGuards(store)
  // @ts-expect-error the endpoints need transactions
  expect(() => openPostgres({ pool })).toBeTypeOf('function')
})
