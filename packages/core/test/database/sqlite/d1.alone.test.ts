import { type ProvedSession, validateSession } from '@sallyport/core'
import { openSqliteStore } from '@sallyport/core/sqlite'
import { createTestAuth } from '@sallyport/core/testing'
import { Miniflare } from 'miniflare'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { reasonOf } from '../../support/reason-of.ts'

const { config, close } = await createTestAuth()
const worker = new Miniflare({
  modules: true,
  script: 'export default {}',
  d1Databases: { DB: 'app' },
  compatibilityDate: '2026-01-01',
})
afterAll(async () => {
  await worker.dispose()
  await close()
})

const d1 = await worker.getD1Database('DB')
const run = (sql: string) => d1.prepare(sql).run()
await run(
  'create table user (id text primary key, name text, email text, role text, banned integer, banExpires integer)',
)
await run(
  'create table session (id text primary key, userId text, expiresAt integer, createdAt integer, version integer)',
)
const mapping = {
  dates: 'seconds',
  session: { columns: { lastAuthenticatedAt: 'createdAt', version: 'version' } },
} as const
const ada: ProvedSession = { sessionId: 's', userId: 'u', version: 1, issuer: config.issuer }
const inAnHour = Math.floor(Date.now() / 1000) + 3600

beforeEach(async () => {
  await run('delete from session')
  await run('delete from user')
  await run(`insert into user values ('u', 'Ada', 'ada@example.com', 'admin', 0, null)`)
  await run(`insert into session values ('s', 'u', ${inAnHour}, ${inAnHour - 3600}, 1)`)
})

describe('a store on Cloudflare D1', () => {
  async function openStore() {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    const store = await openSqliteStore({ client: d1 }, { mapping })
    return { store, warn }
  }

  test('validates sessions, and sees every change', async () => {
    const { store } = await openStore()
    const validate = () => validateSession(ada, store.sessions, config)
    expect(await validate()).toMatchObject({ id: 's', user: { name: 'Ada', role: 'admin' } })
    await run('update session set version = 2')
    expect(await reasonOf(validate())).toBe('TOKEN_INVALID')
    await run('update session set version = 1')
    await run('update user set banned = 1')
    expect(await reasonOf(validate())).toBe('ACCOUNT_BANNED')
    await run('delete from session')
    expect(await reasonOf(validate())).toBe('SESSION_NOT_FOUND')
    await store.close()
  })

  test('says that streams end with their lease, and writes nothing', async () => {
    const { store, warn } = await openStore()
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('Cloudflare D1'))
    await store.limits?.consume('a', { points: 1, duration: 60 })
    const { results } = await d1.prepare(`select name from sqlite_schema where name like 'sallyport%'`).all()
    expect(results).toEqual([])
    await store.close()
  })

  test('is unavailable if a query fails', async () => {
    const { store } = await openStore()
    await run('alter table session rename to renamed')
    expect(await reasonOf(validateSession(ada, store.sessions, config))).toBe('SESSIONS_UNAVAILABLE')
    await run('alter table renamed rename to session')
    await store.close()
  })

  test('rejects a session of D1, which may read a replica', async () => {
    const open = openSqliteStore({ client: d1.withSession() }, { mapping })
    await expect(open).rejects.toThrow('Pass the database')
  })

  test('rejects a mapping whose dates are not as stored', async () => {
    const open = openSqliteStore({ client: d1 }, { mapping: { ...mapping, dates: 'iso' } })
    await expect(open).rejects.toThrow('Set mapping.dates')
  })
})
