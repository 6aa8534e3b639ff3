import { join, resolve } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => vi.unstubAllEnvs())

async function load(variables: Record<string, string>) {
  vi.stubEnv('BASE_URL', undefined)
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  vi.resetModules()
  return import('../src/env.ts')
}

test.each([
  { given: { NODE_ENV: 'development' }, HOST: 'localhost' },
  { given: { NODE_ENV: 'test' }, HOST: 'localhost' },
  { given: { NODE_ENV: 'production' }, HOST: undefined },
  { given: { NODE_ENV: 'development', HOST: '0.0.0.0' }, HOST: '0.0.0.0' },
])('$given: who can connect is $HOST', async ({ given, HOST }) => {
  expect((await load(given)).env.HOST).toBe(HOST)
})

test('a misspelled NODE_ENV is rejected: it must not mean development', async () => {
  await expect(load({ NODE_ENV: 'prod' })).rejects.toThrow('NODE_ENV')
})

test.each([
  { given: {}, sameAddress: '' },
  { given: { PORT: '4000' }, sameAddress: 'PORT=4000 BASE_URL=http://localhost:4000 ' },
  {
    given: { BASE_URL: 'https://app.example.com' },
    sameAddress: 'PORT=3000 BASE_URL=https://app.example.com ',
  },
])('$given: a command for the other process begins with "$sameAddress"', async ({ given, sameAddress }) => {
  expect((await load(given)).sameAddress).toBe(sameAddress)
})

test.each([
  { given: {}, hasDemoUsers: true },
  { given: { BASE_URL: 'http://127.0.0.1:3000' }, hasDemoUsers: true },
  { given: { BASE_URL: 'https://app.example.com' }, hasDemoUsers: false },
  { given: { BASE_URL: 'http://192.168.0.2:3000' }, hasDemoUsers: false },
  { given: { BASE_URL: 'https://localhost.example.com' }, hasDemoUsers: false },
  { given: { NODE_ENV: 'production' }, hasDemoUsers: false },
])('$given: demo users are created: $hasDemoUsers', async ({ given, hasDemoUsers }) => {
  expect((await load({ NODE_ENV: 'development', ...given })).hasDemoUsers).toBe(hasDemoUsers)
})

test.each(['/', '..'])('in %s, data is where it is in the folder of the example', async (cwd) => {
  const example = join(import.meta.dirname, '..')
  vi.spyOn(process, 'cwd').mockReturnValue(resolve(example, cwd))
  const { env } = await load({ SERVICE_KEY_FILE: '/srv/keys.json' })
  const { DATABASE_URL, KEY_FILE, SERVICE_KEY_FILE, INTERNAL_SOCKET } = env
  vi.restoreAllMocks()
  expect(
    [DATABASE_URL, KEY_FILE, INTERNAL_SOCKET, SERVICE_KEY_FILE].map((path) => resolve(example, cwd, path)),
  ).toEqual([
    join(example, 'data/example.db'),
    join(example, 'data/keys.json'),
    join(example, 'data/internal.sock'),
    '/srv/keys.json',
  ])
})
