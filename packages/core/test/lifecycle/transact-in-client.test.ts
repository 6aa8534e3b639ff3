import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { type Identity, verifyJwt } from '@sallyport/core'
import type { StoreMapping } from '@sallyport/core/postgres'
import { createTestAuth } from '@sallyport/core/testing'
import Database from 'better-sqlite3'
import { drizzle as onSqlite } from 'drizzle-orm/better-sqlite3'
import { drizzle as onLibsql } from 'drizzle-orm/libsql'
import { drizzle as onPg } from 'drizzle-orm/node-postgres'
import { drizzle as onPglite } from 'drizzle-orm/pglite'
import { drizzle as onPostgresJs } from 'drizzle-orm/postgres-js'
import { sql } from 'drizzle-orm/sql'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { SessionLocks } from '../../src/database/find-session-sql.ts'
import { sessionSql } from '../../src/database/find-session-sql.ts'
import { transactionsOf } from '../../src/lifecycle/client-transactions.ts'
import { transactInClient } from '../../src/lifecycle/transact-in-client.ts'
import { createPglite } from '../support/pglite.ts'
import { testPostgres } from '../support/postgres.ts'
import { reasonOf } from '../support/reason-of.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const auth = await createTestAuth()
afterAll(() => auth.close())
const { token } = await auth.signIn()
const { config } = auth
const identity: Identity = {
  ...(await verifyJwt(token, config)),
  userId: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
  sessionId: '0b0e3ad4-6cd2-4f23-9c3c-9e1cf5d0b1aa',
}

const mapping: StoreMapping = {
  session: {
    table: 'user_sessions',
    columns: { userId: 'user_id', expiresAt: 'expires_at', lastAuthenticatedAt: null, tenantId: 'tenant_id' },
  },
  user: { table: 'users', columns: { name: null, email: null, role: null, banExpires: null } },
}
const columns = { user: {}, session: { tenantId: { type: 'text' } } } as const
const onEngine = (engine: 'sqlite' | 'postgres'): SessionLocks => ({
  sql: sessionSql(engine, mapping, columns),
  columns,
  ...(engine === 'postgres' && { ids: { session: 'uuid', user: 'uuid' } as const }),
})

const directory = temporaryDirectory()
const file = (name: string) => `file:${join(directory, name)}`
const server = await testPostgres()

/** The part of Drizzle's handles and transactions that the test uses. */
interface Drizzle {
  transaction: unknown
  execute?(statement: ReturnType<typeof sql>): unknown
  run?(statement: ReturnType<typeof sql>): unknown
}

interface Client {
  readonly name: string
  readonly engine: 'sqlite' | 'postgres'
  /** Starting it takes seconds, so only `pnpm test:databases` does. */
  readonly isLong?: true
  open(): Promise<Drizzle>
}

const CLIENTS: readonly Client[] = [
  {
    name: 'better-sqlite3',
    engine: 'sqlite',
    open: async () => onSqlite({ client: new Database(':memory:') }),
  },
  {
    name: 'libsql',
    engine: 'sqlite',
    open: async () => onLibsql({ client: createClient({ url: file('libsql.db') }) }),
  },
  {
    name: 'node-postgres',
    engine: 'postgres',
    async open() {
      const pool = new pg.Pool({ connectionString: await server.createDatabase('pg') })
      afterAll(() => pool.end())
      return onPg({ client: pool })
    },
  },
  {
    name: 'postgres.js',
    engine: 'postgres',
    async open() {
      const client = postgres(await server.createDatabase('postgresjs'), { onnotice: () => {} })
      afterAll(() => client.end())
      return onPostgresJs({ client })
    },
  },
  {
    name: 'PGlite',
    engine: 'postgres',
    isLong: true,
    async open() {
      const client = await createPglite()
      afterAll(() => client.close())
      return onPglite({ client })
    },
  },
]

const clients = CLIENTS.filter(({ isLong }) => !isLong || process.env.DATABASES === 'all')

describe.each(clients)('a transaction of Drizzle on $name', async ({ engine, open }) => {
  const client = await open()
  const locks = onEngine(engine)
  const [id, date] = engine === 'sqlite' ? ['text', 'text'] : ['uuid', 'timestamptz']
  const run = async (text: string, db: Drizzle = client) => {
    const statement = sql.raw(text)
    await (engine === 'sqlite' ? db.run?.(statement) : db.execute?.(statement))
  }
  await run(`create table users (id ${id} primary key, banned boolean)`)
  await run(
    `create table user_sessions (id ${id} primary key, user_id ${id}, expires_at ${date}, tenant_id text)`,
  )
  await run('create table note (text text)')
  beforeEach(async () => {
    for (const table of ['note', 'users', 'user_sessions']) await run(`delete from ${table}`)
    await run(`insert into users values ('${identity.userId}', false)`)
    const expiresAt = new Date(config.now().getTime() + 60_000).toISOString()
    await run(
      `insert into user_sessions values ('${identity.sessionId}', '${identity.userId}', '${expiresAt}', 'acme')`,
    )
  })

  async function write(
    options: { identity?: Identity; authorize?: (session: object) => void; after?: string } = {},
  ): Promise<unknown> {
    const transactions = transactionsOf(client, engine)
    if (transactions === null) throw new TypeError('Drizzle was expected')
    const { identity: caller = identity, authorize, after } = options
    const conditions = authorize === undefined ? {} : { authorize }
    return transactInClient(caller, { transactions, locks, config, ...conditions }, (trx) => {
      const db: Drizzle = trx as never
      const statement = sql.raw(`insert into note values ('written')`)
      const written = engine === 'sqlite' ? db.run?.(statement) : db.execute?.(statement)
      if (after !== undefined) throw new Error(after)
      return written instanceof Promise || typeof Object(written).then === 'function'
        ? Promise.resolve(written).then(() => 'done')
        : 'done'
    })
  }
  async function notes(): Promise<number> {
    const transactions = transactionsOf(client, engine)
    let count = -1
    const statement = Object.assign(['select text from note'], { raw: ['select text from note'] })
    const read = (trx: object) => transactions?.executeIn(trx)(statement)
    const counted = (result: unknown) => {
      const rows = Array.isArray(result) ? result : Object(result).rows
      count = rows.length
    }
    await transactions?.begin((trx) => {
      const found = read(trx)
      if (Array.isArray(found)) return counted(found)
      return Promise.resolve(found).then(counted)
    })
    return count
  }

  test('locks the session, reads its added columns, and writes', async () => {
    const sessions: object[] = []
    expect(await write({ authorize: (session) => void sessions.push(session) })).toBe('done')
    expect(sessions).toMatchObject([{ id: identity.sessionId, tenantId: 'acme', user: { role: 'user' } }])
    expect(await notes()).toBe(1)
  })

  test.each([
    ['a revoked session', 'delete from user_sessions', 'SESSION_NOT_FOUND'],
    ["a banned user's session", 'update users set banned = true', 'ACCOUNT_BANNED'],
    [
      'an expired session',
      `update user_sessions set expires_at = '2020-01-01T00:00:00.000Z'`,
      'SESSION_EXPIRED',
    ],
    ['a session without a known end', 'update user_sessions set expires_at = null', 'SESSION_EXPIRED'],
  ])('writes nothing for %s', async (_name, change, reason) => {
    await run(change)
    expect(await reasonOf(write())).toBe(reason)
    expect(await notes()).toBe(0)
  })

  test.each([`' or true --`, '\\', 'u'])('finds no session for the id %j', async (sessionId) => {
    expect(await reasonOf(write({ identity: { ...identity, sessionId } }))).toBe('SESSION_NOT_FOUND')
  })

  test('writes nothing if the key of the token has leaked', async () => {
    expect(await reasonOf(write({ identity: { ...identity, keyId: 'removed' } }))).toBe('TOKEN_INVALID')
    expect(await notes()).toBe(0)
  })

  test('rolls back, and rethrows the error of the work', async () => {
    await expect(write({ after: 'no funds' })).rejects.toThrow('no funds')
    expect(await notes()).toBe(0)
  })

  test('reports a missing table as a mistake, not as an outage', async () => {
    await run('alter table user_sessions rename to elsewhere')
    await expect(write()).rejects.toMatchObject({ name: 'ConfigurationError' })
    await run('alter table elsewhere rename to user_sessions')
  })
})

test("rejects a client that doesn't keep the statements of a transaction on one connection", async () => {
  const pool = new pg.Pool({ connectionString: await server.createDatabase('autocommit'), maxUses: 1 })
  pool.on('error', () => {})
  afterAll(() => pool.end())
  await pool.query(`
    create table users (id uuid primary key, banned boolean);
    create table user_sessions (id uuid, user_id uuid, expires_at timestamptz, tenant_id text);
    insert into users values ('${identity.userId}', false);
    insert into user_sessions values ('${identity.sessionId}', '${identity.userId}', '2099-01-01', null)`)
  // Drizzle recognizes a Pool by its class, and doesn't reserve a connection of any other.
  class Connections {
    readonly query = (...statement: Parameters<pg.Pool['query']>) => pool.query(...statement)
  }
  const connections: object = new Connections()
  const client = onPg({ client: connections as pg.Pool })
  const transactions = transactionsOf(client, 'postgres')
  if (transactions === null) throw new TypeError('Drizzle was expected')
  let isWritten = false
  const options = { transactions, locks: onEngine('postgres'), config }
  const writing = transactInClient(identity, options, () => {
    isWritten = true
  })
  await expect(writing).rejects.toThrow('outside a transaction')
  await expect(writing).rejects.toMatchObject({ name: 'ConfigurationError' })
  expect(isWritten).toBe(false)
})
