import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { afterAll, describe, test as sequential } from 'vitest'
import { formatEnv, keyFileStore } from '../../src/key-file/key-store.ts'
import { createKeyRing } from '../../src/keys/key-ring.ts'
import { hostSallyport } from '../support/host-sallyport.ts'
import { type Run, runSallyport, startSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeApp } from '../support/write-app.ts'

const test = sequential.concurrent

const directory = temporaryDirectory()
const CORE = new URL('../../src/', import.meta.url)
const key = await createSigningKey()
const onWindows = process.platform === 'win32'

const host = hostSallyport()
afterAll(host.stop)

/** Runs a command in a process that the calls share. */
const sallyport = (args: readonly string[], cwd = directory): Promise<Run> => host.run(args, { cwd })

describe('--version and --help', () => {
  test.for(['--version', '-V'])('%s prints the version of the package', async (option, { expect }) => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', CORE), 'utf8'))
    expect(await sallyport([option])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  test('--help names every command and the first steps', async ({ expect }) => {
    const { code, stdout } = await sallyport(['--help'])
    expect(code).toBe(0)
    for (const name of ['init', 'migrate', 'prune', 'keys', 'generate', 'doctor', 'user', 'sessions'])
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
    expect(stdout).toContain('$ sallyport init')
  })

  test.for([
    ['init'],
    ['migrate'],
    ['prune'],
    ['keys'],
    ['keys', 'create'],
    ['keys', 'list'],
    ['keys', 'rotate'],
    ['keys', 'retire'],
    ['keys', 'export'],
    ['generate'],
    ['doctor'],
    ['user'],
    ['user', 'create'],
    ['user', 'promote'],
    ['user', 'list'],
    ['sessions'],
    ['sessions', 'list'],
    ['sessions', 'revoke'],
  ])('%j --help has examples and the exit codes', async (command, { expect }) => {
    const { code, stdout, stderr } = await sallyport([...command, '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`\nExamples:\n  $ sallyport ${command.join(' ')} `)
    expect(stdout).toMatch(/\nExit codes:\n {2}0 {2}done\n {2}1 .*\n {2}2 .*\n {2}3 .*\n$/)
  })
})

test('a long output reaches a slow pipe in full', { skip: onWindows }, async ({ expect }) => {
  const path = join(directory, 'long.json')
  const revoked = Array.from({ length: 2_000 }, (_, i) => ({ kid: `leaked-${i}`, at: new Date() }))
  keyFileStore(path).create({ ...createKeyRing(key, new Date()), revoked })
  const command = `"${process.execPath}" "$1" keys list --json -f "$2" | (sleep 1; cat)`
  const main = fileURLToPath(new URL('cli/main.ts', CORE))
  const { stdout } = await promisify(execFile)('sh', ['-c', command, 'sh', main, path])
  expect(JSON.parse(stdout)).toHaveLength(2_001)
})

const FULL_DISK = '/dev/full'

test('keys that a full disk does not take are a failure', { skip: !existsSync(FULL_DISK) }, async ({
  expect,
}) => {
  const main = fileURLToPath(new URL('cli/main.ts', CORE))
  for (const option of ['', '--json']) {
    const command = `"${process.execPath}" "$0" keys create ${option} > ${FULL_DISK}`
    const run = promisify(execFile)('sh', ['-c', command, main])
    await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('ENOSPC') })
  }
})

describe('--json prints errors as JSON too, with the same exit code', () => {
  test.for([
    { fault: 'wrong arguments', args: ['keys', 'list', '--colour'], code: 2, error: 'USAGE' },
    { fault: 'no command', args: ['keys'], code: 2, error: 'USAGE' },
    { fault: 'no place', args: ['keys', 'list'], code: 2, error: 'USAGE' },
    { fault: 'no app', args: ['doctor', 'boundary'], code: 2, error: 'USAGE' },
    { fault: 'no keys', args: ['keys', 'list', '-f', 'none.json'], code: 1, error: undefined },
    { fault: 'a folder', args: ['keys', 'list', '-f', '.'], code: 1, error: 'EISDIR' },
  ])('$fault', async ({ args, code, error }, { expect }) => {
    const plain = await sallyport(args)
    expect(plain).toMatchObject({ code, stdout: '' })
    const run = await sallyport([...args, '--json'])
    expect(run.code).toBe(code)
    expect(JSON.parse(run.stdout)).toEqual({ error: { message: expect.any(String), code: error } })
    if (args.length > 1) expect(run.stderr).toBe('')
  })
})

describe('a variable that only ./.env has', () => {
  const definition = (variable: string) => `
    import { staticJwks } from '${CORE}index.ts'
    import { parseSigningKeys } from '${CORE}auth.ts'
    ${variable === 'JWKS' ? 'staticJwks' : 'parseSigningKeys'}(process.env.${variable})
    export default { plugins: [] }`
  const env = `${formatEnv(createKeyRing(key, new Date()))}\nDATABASE_URL=file:app.db\n`

  test.for([
    { variable: 'JWKS', args: ['generate'], code: 1 },
    { variable: 'JWKS', args: ['doctor', 'configuration'], code: 1 },
    { variable: 'JWKS', args: ['migrate', '-d', 'file:app.db', '--auth', 'src/auth.ts'], code: 1 },
    { variable: 'SIGNING_KEYS', args: ['generate'], code: 1 },
    { variable: 'SIGNING_KEYS', args: ['keys', 'list'], code: 2 },
    { variable: 'DATABASE_URL', args: ['migrate'], code: 2 },
    { variable: 'DATABASE_URL', args: ['prune'], code: 2 },
  ])('$args suggests --env for $variable', async ({ variable, args, code }, { expect }) => {
    const root = writeApp(directory, { '.env': env, 'src/auth.ts': definition(variable) })
    const run = await sallyport(args, root)
    expect(run.code).toBe(code)
    expect(run.stdout + run.stderr).toContain(`./.env has ${variable}: pass --env .env.`)
    const elsewhere = writeApp(directory, { 'src/auth.ts': definition(variable) })
    const { stdout, stderr } = await sallyport(args, elsewhere)
    expect(stdout + stderr).not.toContain('./.env')
    // A process loads a module once, also if it fails.
    const again = writeApp(directory, { '.env': env, 'src/auth.ts': definition(variable) })
    const loaded = await sallyport([...args, '--env', '.env'], again)
    expect(loaded.stdout + loaded.stderr).not.toContain(`${variable} `)
  })
})

// Windows has no `mkfifo`.
test('a ./.env that is a named pipe is not read', { skip: onWindows }, async ({ expect }) => {
  const root = writeApp(directory, { 'src/.keep': '' })
  execFileSync('mkfifo', [join(root, '.env')])
  const running = startSallyport(['migrate'], { cwd: root })
  // Without the check, the command would wait forever.
  const timer = setTimeout(() => running.process.kill('SIGKILL'), 50_000)
  expect(await running.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('DATABASE_URL.\n') })
  clearTimeout(timer)
})

describe('a definition that cannot be loaded is one line: the file and the message', () => {
  test.for([
    ['throws', `throw new Error('no.\\n  keys')`, 'src/auth.ts could not be loaded: no; keys\n'],
    ['throws a string', `throw 'no keys'`, 'src/auth.ts could not be loaded: no keys\n'],
    ['has a syntax error', 'export default {', /^src\/auth\.ts could not be loaded: .*auth\.ts:1\)\n$/],
    [
      'imports a missing file',
      `import './none.ts'`,
      /^src\/auth\.ts could not be loaded: .*none\.ts.*NODE_OPTIONS="--import tsx"\.\n$/,
    ],
    [
      'imports a file that Node cannot load',
      `import './page.tsx'`,
      /^src\/auth\.ts could not be loaded: .*page\.tsx\. Use Node .*NODE_OPTIONS="--import tsx"\.\n$/,
    ],
    [
      'has syntax that Node cannot remove',
      'enum Role {}',
      /^src\/auth\.ts could not be loaded: .*enum.*auth\.ts:1\)\. .*NODE_OPTIONS="--import tsx"\.\n$/,
    ],
  ] as const)('%s', async ([, module, message], { expect }) => {
    const root = writeApp(directory, { 'src/auth.ts': module, 'src/page.tsx': '' })
    for (const args of [['generate'], ['migrate', '-d', ':memory:', '--auth', 'src/auth.ts']]) {
      const { code, stdout, stderr } = await sallyport(args, root)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      if (typeof message === 'string') expect(stderr).toBe(message)
      else expect(stderr).toMatch(message)
    }
  })

  test('fails while it waits', async ({ expect }) => {
    const module = `setTimeout(() => { throw new Error('late') })
      await new Promise(() => setInterval(() => {}, 1000))`
    const root = writeApp(directory, { 'src/auth.ts': module })
    const failed = await runSallyport(['generate'], { cwd: root })
    expect(failed).toEqual({ code: 1, stdout: '', stderr: 'late\n' })
  })
})

describe('a mistyped path creates no file, and the message names the option that does', () => {
  test.for([
    ['migrate', '-d', 'file:data/typo.db'],
    ['keys', 'create', '-f', 'data/typo.json'],
    ['keys', 'create', '--env', 'typo.env'],
  ])('%j', async (args, { expect }) => {
    const root = writeApp(directory, { 'src/.keep': '' })
    const { code, stdout, stderr } = await sallyport(args, root)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/typo.* --create/)
    expect(readdirSync(root)).toEqual(['src'])
    expect(await sallyport([...args, '--create'], root)).toMatchObject({ code: 0 })
    expect(await sallyport(args, root)).toMatchObject({ code: 0 })
  })

  test('an env file without keys gets the first one', async ({ expect }) => {
    const root = writeApp(directory, { '.env': 'APP=one\n' })
    expect(await sallyport(['keys', 'create', '--env', '.env'], root)).toMatchObject({ code: 0 })
    expect(readFileSync(join(root, '.env'), 'utf8')).toMatch(/^APP=one\nJWKS=/)
  })
})

describe('keys retire says with 3 when nothing changed', () => {
  const path = join(directory, 'keys.json')
  const since = new Date()
  keyFileStore(path).create({
    keys: [
      { jwk: key, state: 'retiring', since },
      { jwk: { ...key, kid: 'active' }, state: 'active', since },
    ],
    revoked: [{ kid: 'leaked', at: since }],
  })

  test.for([
    [['unknown'], 'Key unknown not found.'],
    [['unknown', '--now'], 'Key unknown not found.'],
    [[key.kid], `${key.kid} is retiring already. If it has leaked, pass --now.`],
    [['leaked', '--now'], 'leaked is revoked already.'],
  ] as const)('%j', async ([args, reason], { expect }) => {
    const before = readFileSync(path, 'utf8')
    const { code, stdout, stderr } = await sallyport(['keys', 'retire', ...args, '-f', path])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain(`Nothing changed. ${reason}`)
    expect(readFileSync(path, 'utf8')).toBe(before)
  })
})
