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
])('$given: listens on $HOST', async ({ given, HOST }) => {
  expect((await load(given)).env.HOST).toBe(HOST)
})

test('prints one line per wrong variable and exits with 1; a misspelled NODE_ENV is not development', async () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`exit ${code}`)
  })
  const print = vi.spyOn(console, 'error').mockImplementation(() => {})
  await expect(load({ NODE_ENV: 'prod', PORT: 'abc' })).rejects.toThrow('exit 1')
  expect(print.mock.calls.map(([line]) => String(line).split(':')[0])).toEqual(['NODE_ENV', 'PORT'])
  exit.mockRestore()
  print.mockRestore()
})

test.each([
  { given: {}, sameAddress: '' },
  { given: { PORT: '4000' }, sameAddress: 'PORT=4000 BASE_URL=http://localhost:4000 ' },
  {
    given: { BASE_URL: 'https://app.example.com' },
    sameAddress: 'PORT=3000 BASE_URL=https://app.example.com ',
  },
])('$given: the command for another process starts with "$sameAddress"', async ({ given, sameAddress }) => {
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

test.each(['/', '..'])('started in %s, the example finds its data folder', async (cwd) => {
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
