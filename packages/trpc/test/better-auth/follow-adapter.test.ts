import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import SqliteDatabase from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { expect, test, vi } from 'vitest'
import { followAdapter, type WritableAdapter } from '../../src/better-auth/follow-adapter.ts'

const EVERYONE = { sessionId: null, userId: null }

/** Opens Better Auth's adapter, and returns what is published. */
async function openAdapter() {
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: new SqliteDatabase(':memory:') }) })
  const options = {
    baseURL: 'http://localhost:3000',
    secret: 'a-secret-of-at-least-32-characters-for-tests',
    database: { db, type: 'sqlite', transaction: true },
  } satisfies BetterAuthOptions
  await (await getMigrations(options)).runMigrations()
  const { adapter, internalAdapter } = await betterAuth(options).$context
  const data = { name: 'Ada', email: 'ada@example.com', createdAt: new Date(), updatedAt: new Date() }
  const { id } = await adapter.create({ model: 'user', data })
  const { token } = await internalAdapter.createSession(String(id), false)
  const publish = vi.fn()
  followAdapter(adapter, publish)
  return { adapter, publish, query: { model: 'session', where: [{ field: 'token', value: token }] } }
}

test('a delete waits a second for our read, and then concerns everyone', async () => {
  const { adapter, publish, query } = await openAdapter()
  vi.spyOn(adapter, 'findMany').mockReturnValueOnce(new Promise(() => {}))
  await adapter.delete(query)
  expect(publish.mock.calls).toEqual([[EVERYONE]])
  expect(await adapter.findOne(query)).toBeNull()
})

test('a delete in a transaction reads nothing, and concerns everyone when it is over', async () => {
  const { adapter, publish, query } = await openAdapter()
  await adapter.transaction(async (trx) => {
    const reads = vi.spyOn(trx, 'findMany')
    await trx.delete(query)
    expect(reads).not.toHaveBeenCalled()
    expect(publish).not.toHaveBeenCalled()
  })
  expect(publish.mock.calls).toEqual([[EVERYONE]])
})

test('methods that take a row, and those of adapters without them, are followed as they are', async () => {
  const row = { id: 's1', userId: 'ada' }
  const write = vi.fn(async (_query: object): Promise<unknown> => row)
  const [first, second] = [vi.fn(), vi.fn()]
  const methods = { update: write, updateMany: write, delete: write, deleteMany: write }
  const bare = { ...methods, findMany: async () => [row] }
  const full = { ...bare, consumeOne: write, incrementOne: write }
  followAdapter(bare, first)
  followAdapter(full, second)
  expect(Object.keys(bare)).toEqual([...Object.keys(methods), 'findMany'])
  const query = { model: 'session', where: [{ field: 'id', value: 's1' }] }
  for (const method of ['consumeOne', 'incrementOne', 'updateMany', 'delete', 'deleteMany'] as const)
    expect(await full[method](query)).toBe(row)
  expect(second.mock.calls).toEqual(Array(5).fill([{ sessionId: 's1', userId: 'ada' }]))
  write.mockRejectedValue(new Error('no connection'))
  await expect(full.delete(query)).rejects.toThrow('no connection')
  expect(second).toHaveBeenCalledTimes(6)
  expect(first).not.toHaveBeenCalled()
})

test('an adapter without transactions publishes a write in one once', async () => {
  const write = async (_query: object): Promise<unknown> => null
  const adapter: WritableAdapter = {
    ...{ update: write, updateMany: write, delete: write, deleteMany: write, findMany: write },
    transaction: (work) => work(adapter),
  }
  const publish = vi.fn()
  followAdapter(adapter, publish)
  const where = [{ field: 'userId', value: 'ada' }]
  await adapter.transaction?.((trx) => trx.deleteMany({ model: 'session', where }))
  expect(publish).toHaveBeenCalledTimes(1)
})
