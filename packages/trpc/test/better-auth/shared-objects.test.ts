import { sessionsOf } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import SqliteDatabase from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import { openApp } from './open-app.ts'

test('two guards that share a client each read their own tables', async () => {
  const database = new SqliteDatabase(':memory:')
  // The ids are numbers.
  const advanced = { database: { generateId: 'serial' as const } }
  const names = {
    user: { modelName: 'staff' },
    session: { modelName: 'staffSession' },
    account: { modelName: 'staffAccount' },
    verification: { modelName: 'staffVerification' },
  }
  const staff = await openApp({ ...names, advanced }, database)
  const customers = await openApp({ advanced }, database)
  const apps = [
    { app: staff, email: 'boss@example.com' },
    { app: customers, email: 'eve@example.com' },
  ]
  for (const { app, email } of apps) {
    await app.signUp(email)
    await app.signIn({ email })
  }
  for (const path of ['me', 'sensitive'])
    for (const { app, email } of apps) expect(await (await app.call(path)).text()).toContain(email)
  // The ids are equal.
  const key = { sessionId: '1', userId: '1' }
  for (const { app, email } of apps)
    expect(await sessionsOf(app.guard).findSession(key)).toMatchObject({ user: { email } })
})

test('a new guard replaces a closed one on the same client, and both work while it is open', async () => {
  const app = await openApp()
  await app.signUp()
  await app.signIn()
  expect((await app.call()).status).toBe(200)
  const next = betterAuthGuard(app.auth)
  expect(next.attach(app.database)[authStore]).toBe(app.store)
  await app.guard.close()
  const store = next.attach(app.database)[authStore]
  expect(store).not.toBe(app.store)
  expect(await store.sessions.findSession({ sessionId: 'unknown', userId: 'unknown' })).toBeNull()
})

test('a frozen adapter fails no call, and guards warn once that they cannot follow it', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const app = await openApp()
  const { adapter } = await app.auth.$context
  Object.freeze(adapter)
  await app.signUp()
  await app.signIn()
  for (let i = 0; i < 2; i++) expect((await app.call()).status).toBe(200)
  expect(warned.mock.calls).toEqual([[expect.stringContaining('is frozen')]])
  warned.mockRestore()
  await app.guard.close()
})
