import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { afterAll, describe, test as sequential } from 'vitest'
import * as z from 'zod'
import { envFileStore, type KeyStore, keyFileStore } from '../../src/key-file/key-store.ts'
import type { KeyRing, KeyState } from '../../src/keys/key-ring.ts'
import { formatKeyRing, parseKeyRing } from '../../src/keys/key-ring-json.ts'
import { type PrivateJwk, parsePublicJwks } from '../../src/keys/policy.ts'
import { hostSallyport } from '../support/host-sallyport.ts'
import { type Run, runSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const test = sequential.concurrent

const directory = temporaryDirectory()
// Dozens of calls share one process, except concurrent ones.
const host = hostSallyport()
afterAll(host.stop)
const [a, b] = await Promise.all([createSigningKey(), createSigningKey()])

/** Runs `sallyport keys`. */
const keys = (args: readonly string[], env: Record<string, string> = {}): Promise<Run> =>
  host.run(['keys', ...args], { cwd: directory, env })

const rowSchema = z.strictObject({
  kid: z.string(),
  alg: z.string(),
  state: z.string(),
  since: z.iso.datetime(),
  comment: z.string(),
})

/** Returns the ids and states that a call printed as JSON. */
function states({ stdout }: Run): (readonly [string, string])[] {
  return z
    .array(rowSchema)
    .parse(JSON.parse(stdout))
    .map(({ kid, state }) => [kid, state] as const)
}

function newFolder(): string {
  const folder = join(directory, crypto.randomUUID())
  mkdirSync(folder)
  return folder
}

/** Writes a key file whose keys have been in their state for this many seconds. */
function keyFile(...entries: (readonly [PrivateJwk, KeyState, number])[]): string {
  const path = join(newFolder(), 'keys.json')
  const ring: KeyRing = {
    keys: entries.map(([jwk, state, seconds]) => ({
      jwk,
      state,
      since: new Date(Date.now() - seconds * 1000),
    })),
    revoked: [],
  }
  keyFileStore(path).create(ring)
  return path
}

/** Returns whether a text contains a private key of a ring. */
const holdsSecret = (text: string, ring: KeyRing | null) =>
  ring === null || ring.keys.some(({ jwk: { d } }) => text.includes(d.slice(0, 16)))

describe('the life cycle of a ring through commands', () => {
  const places: [string, (folder: string) => { args: string[]; store: KeyStore }][] = [
    [
      '--key-file',
      (folder) => {
        const path = join(folder, 'deep', 'keys.json')
        return { args: ['--key-file', path], store: keyFileStore(path) }
      },
    ],
    [
      '--env',
      (folder) => {
        const path = join(folder, '.env')
        return { args: ['--env', path], store: envFileStore(path) }
      },
    ],
  ]

  test.for(places)('%s', async ([, placeIn], { expect }) => {
    const { args, store } = placeIn(newFolder())
    let output = ''
    async function run(command: string, ...more: string[]): Promise<Run> {
      const result = await keys([command, ...args, '--json', ...more])
      output += result.stdout + result.stderr
      return result
    }

    const [[first]] = states(await run('create', '--create')) as [[string, string]]
    expect(states(await run('list'))).toEqual([[first, 'active']])
    expect(statSync(store.path).mode & 0o777).toBe(0o600)

    const [, [second]] = states(await run('create', '--algorithm', 'ES256')) as [unknown, [string, string]]
    expect(states(await run('list'))).toEqual([
      [first, 'active'],
      [second, 'next'],
    ])
    expect(await run('create')).toMatchObject({ code: 1, stdout: expect.stringContaining('"error"') })
    expect(await run('rotate')).toMatchObject({ code: 1, stdout: expect.stringContaining('"error"') })
    expect(states(await run('rotate', '--force'))).toEqual([
      [first, 'retiring'],
      [second, 'active'],
    ])
    expect(await run('retire', second, '--now')).toMatchObject({ code: 1, stderr: '' })
    const [, , [third]] = states(await run('create')) as [unknown, unknown, [string, string]]
    const ring = store.read()
    expect(states(await run('retire', second, '--now'))).toEqual([
      [first, 'retiring'],
      [third, 'active'],
      [second, 'revoked'],
    ])
    const exported = await run('export')
    expect(JSON.parse(exported.stdout)).toMatchObject({
      keys: [{ kid: first }, { kid: third }],
      revoked: [second],
    })
    expect(parsePublicJwks(exported.stdout, 'JWKS')).toHaveLength(2)
    expect(holdsSecret(output, ring)).toBe(false)
  })
})

test('reads the key file from KEY_FILE', async ({ expect }) => {
  const KEY_FILE = keyFile([a, 'active', 0])
  expect(states(await keys(['list', '--json'], { KEY_FILE }))).toEqual([[a.kid, 'active']])
})

describe('prints private keys only on request', () => {
  test('export --private prints the variables, like create without a place', async ({ expect }) => {
    const path = keyFile([a, 'active', 0], [b, 'next', 0])
    const { stdout } = await keys(['export', '--private', '-f', path])
    const { JWKS = '', SIGNING_KEYS = '' } = parseEnv(stdout)
    expect(parsePublicJwks(JWKS, 'JWKS').map(({ kid }) => kid)).toEqual([a.kid, b.kid])
    expect(formatKeyRing(parseKeyRing(SIGNING_KEYS, 'ring'))).toBe(
      formatKeyRing(parseKeyRing(readFileSync(path, 'utf8'), 'ring')),
    )
  })

  test('prints the ring with --json', async ({ expect }) => {
    const path = keyFile([a, 'active', 0])
    const exported = parseKeyRing((await keys(['export', '--private', '--json', '-f', path])).stdout, 'ring')
    expect(exported.keys.map(({ jwk }) => jwk)).toEqual([a])
    const created = parseKeyRing((await keys(['create', '--json'])).stdout, 'ring')
    expect(created.keys).toMatchObject([{ state: 'active', jwk: { alg: 'Ed25519' } }])
  })

  test('names a broken file without quoting it', async ({ expect }) => {
    const path = join(newFolder(), 'keys.json')
    writeFileSync(path, formatKeyRing(parseKeyRing({ keys: [a] }, 'ring')).slice(0, -1))
    for (const command of ['create', 'list']) {
      const { code, stdout, stderr } = await keys([command, '-f', path])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain(path)
      expect(stderr).not.toContain(a.d.slice(0, 8))
    }
  })
})

test.for(['new.env', 'new keys.env'])(
  'the error for the file %s without keys has the command that creates it',
  async (name, { expect }) => {
    const path = join(newFolder(), name)
    const missing = await keys(['rotate', '--prefix', 'SERVICE_', '--env', path])
    const [, command = ''] = /`sallyport keys (.*)`/.exec(missing.stderr) ?? []
    const words = command.match(/"[^"]*"|\S+/g) ?? []
    expect(await keys(words.map((word) => word.replaceAll('"', '')))).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(path, 'utf8')).toMatch(/^SERVICE_JWKS=/)
  },
)

describe('the exit code', () => {
  test.for([
    [0, 'help', ['--help']],
    [0, 'a new key without a place', ['create']],
    [1, 'a place with no keys', ['list', '-f', 'nothing.json']],
    [1, 'a place with no keys', ['export', '--env', 'nothing.env']],
    [1, 'a missing file', ['create', '-f', 'nothing.json']],
    [1, 'a missing file', ['create', '--env', 'nothing.env']],
    [3, 'an unknown key', ['retire', 'x', '-f', keyFile([a, 'active', 0])]],
    [3, 'an unknown key', ['retire', 'x', '--now', '-f', keyFile([a, 'active', 0])]],
    [
      3,
      'a key that is retiring already',
      ['retire', a.kid, '-f', keyFile([a, 'retiring', 0], [b, 'active', 0])],
    ],
    [1, 'nothing to rotate to', ['rotate', '--force', '-f', keyFile([a, 'active', 0])]],
    [1, 'a folder instead of a file', ['list', '-f', '.']],
    [2, 'no command', []],
    [2, 'an unknown command', ['destroy']],
    [2, 'no place', ['list']],
    [2, 'no place', ['export']],
    [2, 'two places', ['list', '-f', 'a.json', '-e', 'b.env']],
    [2, 'no id', ['retire', '-f', 'a.json']],
    [2, 'an extra argument', ['list', 'x', '-f', 'a.json']],
    [2, 'an unknown option', ['list', '--color']],
    [2, 'an unknown algorithm', ['create', '-a', 'HS256']],
    [2, 'an invalid lifetime', ['rotate', '-f', 'a.json', '--jwt-lifetime', '0']],
    [2, 'an invalid lifetime', ['rotate', '-f', 'a.json', '--jwt-lifetime', '15m']],
    [2, 'an invalid lifetime', ['rotate', '-f', 'a.json', '--jwt-lifetime=-1']],
  ] as const)('%i: %s, %j', async ([code, , args], { expect }) => {
    const run = await keys(args)
    expect(run.code).toBe(code)
    expect(run[code === 0 ? 'stderr' : 'stdout']).toBe('')
    expect(run[code === 0 ? 'stdout' : 'stderr']).not.toBe('')
    expect(run.stderr).not.toContain('    at ')
  })

  test('2: KEY_FILE together with --env', async ({ expect }) => {
    const run = await keys(['list', '--env', 'a.env'], { KEY_FILE: 'keys.json' })
    expect(run).toMatchObject({ code: 2, stdout: '' })
    expect(run.stderr).toContain('KEY_FILE')
  })
})

describe('concurrent commands lose no changes', () => {
  test('four commands that create a key: each success leaves a key, and each failure says why', async ({
    expect,
  }) => {
    const path = join(newFolder(), '.env')
    writeFileSync(path, 'APP=one\n')
    const runs = await Promise.all(
      Array.from({ length: 4 }, () => runSallyport(['keys', 'create', '--env', path], { cwd: directory })),
    )
    const ring = envFileStore(path).read()
    expect(runs.filter(({ code }) => code === 0)).toHaveLength(ring?.keys.length ?? -1)
    expect(ring?.keys.filter(({ state }) => state === 'active')).toHaveLength(1)
    for (const { code, stderr } of runs)
      if (code !== 0) expect(stderr).toMatch(/changing the keys|next key already/)
    expect(readFileSync(path, 'utf8')).toMatch(/^APP=one\n/)
  })
})

describe('--prefix', () => {
  test("keeps a service's ring next to the users' ring in one env file", async ({ expect }) => {
    const path = join(newFolder(), '.env')
    await keys(['create', '--create', '--env', path])
    const before = envFileStore(path).read()
    await keys(['create', '--env', path, '--prefix', 'SERVICE_'])
    const { code } = await keys(['create', '--env', path, '--prefix', 'SERVICE_'])
    expect(code).toBe(0)
    expect(envFileStore(path).read()).toEqual(before)
    expect(
      envFileStore(path, 'SERVICE_')
        .read()
        ?.keys.map(({ state }) => state),
    ).toEqual(['active', 'next'])
    expect(states(await keys(['list', '--env', path, '--json', '--prefix', 'SERVICE_']))).toHaveLength(2)
  })

  test.for([
    [
      'a key file, which has no variables',
      ['-f', 'keys.json', '--prefix', 'SERVICE_'],
      /cannot be used with/,
    ],
    ['what no variable may be called', ['--prefix', 'a-b'], /It must be letters, digits, and underscores/],
    ['nothing', ['--prefix', ''], /It must be letters, digits, and underscores/],
  ] as const)('is rejected with %s', async ([_what, args, message], { expect }) => {
    const { code, stdout, stderr } = await keys(['create', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })
})
