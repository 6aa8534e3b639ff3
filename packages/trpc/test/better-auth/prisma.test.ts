import { isReady, sessionsOf } from '@sallyport/core'
import { expect, onTestFinished, test, vi } from 'vitest'
import { testPostgres } from '../../../core/test/support/postgres.ts'
import { COLUMNS, createApp } from './app.ts'
import { openPrisma } from './prisma-scene.ts'

const postgres = await testPostgres()

test("with Prisma, Step 2 uses the adapter and says so, or the app's Pool, and ctx.transaction its client", async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const { connect, pool } = await openPrisma(postgres)
  const [first, second] = [connect(), connect()]
  const app = createApp({ ...COLUMNS, ...first.options }, { db: first.db })
  const withPool = createApp({ ...COLUMNS, ...second.options }, { db: second.db, client: pool })
  const { cookie, headers } = await app.signUp()
  await app.auth.api.createOrganization({ headers, body: { name: 'Ada Ltd.', slug: 'ada' } })

  const found = await app.auth.api.getSession({ headers })
  const { token, ...session } = found?.session ?? {}
  const expected = { session: { ...session, activeOrganizationRole: 'owner' }, user: found?.user }
  for (const { call } of [app, withPool]) {
    expect(await call(cookie)).toMatchObject(expected)
    const seen = JSON.stringify(await call(cookie))
    for (const secret of [token, 'hidden']) expect(seen).not.toContain(secret)
    expect(await call(cookie, 'write')).toBe('written')
  }
  expect(warn.mock.calls).toEqual([[expect.stringContaining('betterAuthGuard(auth, { client })')]])

  app.beforeWriting(() => pool.query('delete from auth.login'))
  for (const { call } of [app, withPool]) expect(await call(cookie, 'write')).toBe('SESSION_NOT_FOUND')
  for (const { call } of [app, withPool]) expect(await call(cookie)).toBe('SESSION_NOT_FOUND')
})

test('with Prisma and UUIDs, the guard is ready, and its health check passes', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const { connect } = await openPrisma(postgres, 'uuid')
  const { db, options } = connect()
  const { guard, signUp, call } = createApp({ ...COLUMNS, ...options }, { db })
  guard.attach(db)
  await guard.ready()
  expect(await isReady(guard.config, sessionsOf(guard))).toBe(true)
  const { cookie } = await signUp()
  expect(await call(cookie)).toMatchObject({ user: { name: 'Ada' } })
})

test("with a Prisma client that reads from replicas, the guard needs the primary's client", async () => {
  const { connect, pool } = await openPrisma(postgres, 'uuid')
  // Like `@prisma/extension-read-replicas`.
  const { db, options } = connect({ extension: { client: { $replica: () => db } } })
  const app = createApp({ ...COLUMNS, ...options }, { db })
  app.guard.attach(db)
  await expect(app.guard.ready()).rejects.toThrow(/reads from replicas.*betterAuthGuard\(auth, { client }\)/)
  const { cookie } = await app.signUp()
  expect(await app.call(cookie)).toBe('SESSIONS_UNAVAILABLE')

  const withPool = createApp({ ...COLUMNS, ...options }, { db, client: pool })
  withPool.guard.attach(db)
  await withPool.guard.ready()
  expect(await withPool.call(cookie)).toMatchObject({ user: { name: 'Ada' } })
})
