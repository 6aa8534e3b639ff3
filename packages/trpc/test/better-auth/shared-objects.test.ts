import { sessionsOf } from '@sallyport/core'
import { authStore } from '@sallyport/core/internal/server'
import {
  authErrorData,
  type HttpContextOptions,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import SqliteDatabase from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import { openApp } from './open-app.ts'
import { cookieOf } from './open-scene.ts'

const ORIGIN = 'http://localhost:3000'

/** Creates an app whose ids are numbers, as those of every other such app. */
async function openNumbered(
  database: InstanceType<typeof SqliteDatabase>,
  tables: Pick<BetterAuthOptions, 'user' | 'session' | 'account' | 'verification'> = {},
) {
  const options = {
    ...tables,
    baseURL: ORIGIN,
    secret: 'a-secret-of-at-least-32-characters-for-tests',
    database,
    advanced: { database: { generateId: 'serial' as const } },
    emailAndPassword: {
      enabled: true,
      password: { hash: async (text: string) => text, verify: async () => true },
    },
  }
  const auth = betterAuth(options)
  await (await getMigrations(options)).runMigrations()
  const guard = betterAuthGuard(auth)
  const createContext = (o: HttpContextOptions) => ({ ...guard.http(o), db: guard.attach(database) })
  const t = initTRPC.context<ReturnType<typeof createContext>>().create({
    errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
  })
  const router = t.router({
    me: t.procedure.use(sessionMiddleware).query(({ ctx }) => ctx.user.email),
    sensitive: t.procedure.use(sensitiveSessionMiddleware).query(({ ctx }) => ctx.user.email),
  })
  return {
    guard,
    async signUp(email: string): Promise<string> {
      const body = { name: 'Ada', email, password: 'a long enough password' }
      return cookieOf((await auth.api.signUpEmail({ body, returnHeaders: true })).headers).cookie
    },
    async call(path: 'me' | 'sensitive', cookie: string): Promise<unknown> {
      const headers = { cookie, 'sec-fetch-site': 'same-origin' }
      const req = new Request(`${ORIGIN}/trpc/${path}`, { headers })
      const response = await fetchRequestHandler({ endpoint: '/trpc', req, router, createContext })
      const body = await response.json()
      return response.ok ? body.result.data : body.error.data.auth
    },
  }
}

test('two guards that share a client each read their own tables', async () => {
  const database = new SqliteDatabase(':memory:')
  const staff = await openNumbered(database, {
    user: { modelName: 'staff' },
    session: { modelName: 'staffSession' },
    account: { modelName: 'staffAccount' },
    verification: { modelName: 'staffVerification' },
  })
  const customers = await openNumbered(database)
  const boss = await staff.signUp('boss@example.com')
  expect(await staff.call('me', boss)).toBe('boss@example.com')
  const eve = await customers.signUp('eve@example.com')
  for (const path of ['me', 'sensitive'] as const) {
    expect(await customers.call(path, eve)).toBe('eve@example.com')
    expect(await staff.call(path, boss)).toBe('boss@example.com')
  }
  // The ids are equal.
  const key = { sessionId: '1', userId: '1' }
  for (const [{ guard }, email] of [
    [staff, 'boss@example.com'],
    [customers, 'eve@example.com'],
  ] as const)
    expect(await sessionsOf(guard).findSession(key)).toMatchObject({ user: { email } })
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
