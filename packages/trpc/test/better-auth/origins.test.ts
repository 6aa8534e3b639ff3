import { sessionMiddleware } from '@sallyport/trpc'
import { betterAuthGuard } from '@sallyport/trpc/better-auth'
import { initTRPC } from '@trpc/server'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import SqliteDatabase from 'better-sqlite3'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => vi.unstubAllEnvs())

const baseURL = 'http://localhost:3000'
const secret = 'a-secret-of-at-least-32-characters-for-tests'
const database = new SqliteDatabase(':memory:')
const guardOf = (options: BetterAuthOptions, guardOptions = {}) =>
  betterAuthGuard(betterAuth({ baseURL, secret, database, ...options }), guardOptions)

test.each([
  { way: 'a list', options: { trustedOrigins: ['https://a.example'] }, expected: ['https://a.example'] },
  { way: 'its own origin', options: { trustedOrigins: [baseURL] }, expected: [] },
  {
    way: 'schemes of native apps',
    options: { trustedOrigins: ['myapp://', 'exp://**', 'app://*'] },
    expected: [],
  },
  {
    way: 'a variable',
    env: 'https://b.example,https://c.example,myapp://',
    expected: ['https://b.example', 'https://c.example'],
  },
  {
    way: 'a list and a variable',
    options: { trustedOrigins: ['https://a.example'] },
    env: 'https://b.example',
    expected: ['https://a.example', 'https://b.example'],
  },
])('pages of trustedOrigins may use the cookies: $way', ({ options = {}, env, expected }) => {
  vi.stubEnv('BETTER_AUTH_TRUSTED_ORIGINS', env)
  vi.stubEnv('NODE_ENV', 'production')
  const { config } = guardOf(options)
  expect([...config.allowedOrigins]).toEqual([baseURL, ...expected])
})

const NAMES_OPTION = /trustedOrigins .* betterAuthGuard\(auth, \{ allowedOrigins \}\)/

test.each([
  { way: 'a pattern', options: { trustedOrigins: ['https://*.example.com'] }, message: NAMES_OPTION },
  { way: 'a pattern of hosts', options: { trustedOrigins: ['*.example.com'] }, message: NAMES_OPTION },
  { way: 'a pattern of schemes', options: { trustedOrigins: ['*://example.com'] }, message: NAMES_OPTION },
  { way: 'a pattern of ports', options: { trustedOrigins: ['localhost:?000'] }, message: NAMES_OPTION },
  { way: 'a function', options: { trustedOrigins: () => ['https://a.example'] }, message: NAMES_OPTION },
  { way: 'a pattern in a variable', env: 'https://*.example.com', message: NAMES_OPTION },
  {
    way: 'several base URLs',
    options: { baseURL: { allowedHosts: ['a.example', 'b.example'] } },
    message: /baseUrl is not set\. .* \{ baseUrl \}/,
  },
  {
    way: 'no base URL',
    options: { baseURL: undefined },
    message: /baseUrl is not set\. Set BETTER_AUTH_URL /,
  },
  {
    way: 'an empty base URL',
    options: { baseURL: '' },
    message: /baseUrl is not set\. Set BETTER_AUTH_URL /,
  },
  { way: 'an invalid base URL', guardOptions: { baseUrl: 'app' }, message: /baseUrl must be an http/ },
])('the first call fails with the fix, and createContext never does: $way', async (row) => {
  vi.stubEnv('BETTER_AUTH_TRUSTED_ORIGINS', row.env)
  vi.stubEnv('BETTER_AUTH_URL', undefined)
  vi.spyOn(console, 'error').mockReturnValue()
  vi.spyOn(console, 'warn').mockReturnValue()
  const guard = guardOf(row.options ?? {}, row.guardOptions)
  const t = initTRPC
    .context<ReturnType<typeof guard.http> & { db: ReturnType<typeof guard.attach> }>()
    .create()
  const router = t.router({ me: t.procedure.use(sessionMiddleware).query(() => 'me') })
  const info = { type: 'query', accept: null, connectionParams: null } as const
  const req = { method: 'GET', headers: { cookie: 'better-auth.session_token=a.b' } }
  for (const { auth } of [guard.http({ req, info }), guard.ws({ req, info }), guard.headers(req.headers)]) {
    const call = router.createCaller({ auth, db: guard.attach({}) }).me()
    await expect(call).rejects.toMatchObject({
      code: 'INTERNAL_SERVER_ERROR',
      message: 'Something went wrong',
    })
    await expect(call).rejects.toMatchObject({ cause: { message: expect.stringMatching(row.message) } })
  }
  expect(() => guard.config.baseUrl).toThrow(row.message)
})

test('allowedOrigins and baseUrl of the guard replace them', () => {
  const options = { baseURL: { allowedHosts: ['a.example'] }, trustedOrigins: ['https://*.example.com'] }
  const { config } = guardOf(options, { baseUrl: 'https://a.example', allowedOrigins: ['https://b.example'] })
  expect([...config.allowedOrigins]).toEqual(['https://a.example', 'https://b.example'])
})
