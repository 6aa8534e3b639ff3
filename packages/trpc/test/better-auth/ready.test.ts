import { createClient } from '@libsql/client'
import { ConfigurationError } from '@sallyport/core'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { betterAuth } from 'better-auth'
import { drizzleAdapter } from 'better-auth/adapters/drizzle'
import SqliteDatabase from 'better-sqlite3'
import { drizzle } from 'drizzle-orm/libsql'
import { expect, test } from 'vitest'
import { sqliteTables } from './drizzle-tables.ts'
import { openScene, reasonsOf } from './open-scene.ts'

const secret = 'a-secret-of-at-least-32-characters-for-tests'
const quiet = { logger: { disabled: true }, secret }

test('ready resolves for an app that works', async () => {
  const scene = await openScene()
  await scene.guard.ready()
  await scene.close()
})

test('ready lists every problem in one error', async () => {
  const database = new SqliteDatabase(':memory:')
  const auth = betterAuth({ ...quiet, database, trustedOrigins: ['https://*.example.com'] })
  const error: unknown = await betterAuthGuard(auth)
    .ready()
    .catch((error: unknown) => error)
  expect(error).toBeInstanceOf(ConfigurationError)
  const { message } = new Error('', { cause: error }).cause as ConfigurationError
  expect(message).toMatch(/baseUrl is not set/)
  expect(message).toMatch(/trustedOrigins has patterns/)
  expect(message).toMatch(/no such table: (session|user)/)
})

test('ready requires a secret', async () => {
  const scene = await openScene()
  const context = await scene.auth.$context
  context.secret = ''
  await expect(scene.guard.ready()).rejects.toMatchObject({ cause: { reason: 'KEYS_UNAVAILABLE' } })
  await scene.close()
})

test('ready looks a session up, which needs columns that Better Auth reads only if they exist', async () => {
  const scene = await openScene()
  scene.database.exec('alter table user drop column banExpires')
  await expect(scene.guard.ready()).rejects.toThrow(/banExpires/)
  await scene.close()
})

test('ready names the problem behind a failed query of Drizzle', async () => {
  const db = drizzle({ client: createClient({ url: ':memory:' }) })
  const database = drizzleAdapter(db, {
    provider: 'sqlite',
    schema: sqliteTables((name) => name, 'timestamp'),
  })
  const guard = betterAuthGuard(betterAuth({ ...quiet, database, baseURL: 'http://localhost:3000' }))
  guard.attach(db)
  await expect(guard.ready()).rejects.toThrow(/^no such table: (session|user)$/m)
})

test('sessions that are only in cookies are a ConfigurationError', async () => {
  const auth = betterAuth({ ...quiet, baseURL: 'http://localhost:3000' })
  await expect(betterAuthGuard(auth).ready()).rejects.toThrow(/only in cookies and cannot be revoked/)
})

test('after close, calls get 503, and Better Auth still works', async () => {
  const scene = await openScene()
  const user = await scene.signUp()
  expect(await scene.call(user.cookie)).toBeNull()
  await scene.guard.close()
  expect(await scene.call(user.cookie)).toBe('SESSIONS_UNAVAILABLE')
  expect(await scene.auth.api.getSession({ headers: user.headers })).not.toBeNull()
  await scene.close()
})

test('a new secret ends streams and rejects old cookies with TOKEN_INVALID', async () => {
  const scene = await openScene()
  const user = await scene.signUp()
  const streams = await scene.openStreams(user.cookie)
  const context = await scene.auth.$context
  context.secret = `${secret}, the next one`
  expect(await scene.call(user.cookie)).toBe('TOKEN_INVALID')
  expect(await reasonsOf(streams)).toEqual(['TOKEN_INVALID', 'TOKEN_INVALID'])
  expect(await scene.call((await scene.signIn(user.email)).cookie)).toBeNull()
  await scene.close()
})
