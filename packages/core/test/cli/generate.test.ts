import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, test as sequential } from 'vitest'
import { hostSallyport } from '../support/host-sallyport.ts'
import { type Run, runSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeApp } from '../support/write-app.ts'

// Many calls are processes. Run as many in parallel as there are processors.
const test = sequential.concurrent

const directory = temporaryDirectory()

/** An auth definition with a column: the part of what `defineAuth` returns that the command reads. */
const DEFINITION = `{ plugins: [{ id: 'app', userColumns: { nickname: { type: 'text' } } }] }`
const WROTE = 'wrote src/generated/database.ts\n'

const appWith = (files: Readonly<Record<string, string | null>>) =>
  writeApp(directory, { 'src/auth.ts': `export default ${DEFINITION}`, ...files })

const generate = (cwd: string, args: readonly string[] = []): Promise<Run> =>
  runSallyport(['generate', ...args], { cwd })

const host = hostSallyport()
afterAll(host.stop)

/** Runs in a process that the calls share, which loads each module once. */
const generateInHost = (cwd: string, args: readonly string[] = []): Promise<Run> =>
  host.run(['generate', ...args], { cwd })

const generated = (root: string, path = 'src/generated/database.ts'): string =>
  readFileSync(join(root, path), 'utf8')

describe('sallyport generate', () => {
  test('writes the columns and tables of the definition once, then reports no changes', async ({
    expect,
  }) => {
    const root = appWith({})
    expect(await generate(root)).toEqual({ code: 0, stdout: WROTE, stderr: '' })
    const file = generated(root)
    expect(readdirSync(join(root, 'src/generated'))).toEqual(['database.ts'])
    expect(file).toContain('"nickname": {\n      "type": "text"')
    expect(file).toContain('"nickname": string | null')
    const { ino } = statSync(join(root, 'src/generated/database.ts'))
    expect(await generateInHost(root)).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
    expect(generated(root)).toBe(file)
    expect(statSync(join(root, 'src/generated/database.ts')).ino).toBe(ino)
  })

  test('writes a module that the definition imports before it exists', async ({ expect }) => {
    const root = appWith({
      'src/auth.ts': `
        import { authColumns } from './generated/database.ts'
        export const used = authColumns.user
        export default ${DEFINITION}`,
    })
    expect(await generate(root)).toEqual({ code: 0, stdout: WROTE, stderr: '' })
    expect(generated(root)).toContain('nickname')
  })

  test('writes the file that --out names', async ({ expect }) => {
    const root = appWith({ 'lib/definition.mts': `export default ${DEFINITION}` })
    const args = ['--auth', './lib/definition.mts', '--out', 'lib/made/tables.ts']
    expect(await generateInHost(root, args)).toMatchObject({ code: 0, stderr: '' })
    expect(generated(root, 'lib/made/tables.ts')).toContain('nickname')
    expect(existsSync(join(root, 'src/generated'))).toBe(false)
  })

  test('finds auth.ts beside package.json, and modules without file extensions, as init writes them', async ({
    expect,
  }) => {
    const root = writeApp(directory, {
      'package.json': '{ "type": "module" }',
      'auth.ts': `
        import { plugins } from './plugins'
        import { authColumns } from './generated/database'
        export const used = authColumns.user
        export default { plugins }`,
      'plugins/index.ts': `
        import 'other'
        export const { plugins } = ${DEFINITION}`,
      // Node finds no native.ts here, which it wouldn't load.
      'node_modules/other/index.js': `
        try { require('./native') } catch (error) { if (error.code !== 'MODULE_NOT_FOUND') throw error }`,
      'node_modules/other/native.ts': 'throw new Error()',
      'node_modules/other/package.json': '{ "name": "other" }',
    })
    const wrote = { code: 0, stdout: 'wrote generated/database.ts\n', stderr: '' }
    expect(await generate(root)).toEqual(wrote)
    expect(generated(root, 'generated/database.ts')).toContain('nickname')
  })

  test('looks for other modules beside auth.ts, unless they are in src', async ({ expect }) => {
    const root = writeApp(directory, { 'auth.ts': '', 'src/context.ts': '' })
    const { stdout } = await host.run(['doctor', '--help'], { cwd: root })
    const defaults = [...stdout.matchAll(/default:\s+"([\w/-]+\.ts)"/g)].map(([, path]) => path)
    expect(defaults).toEqual(expect.arrayContaining(['auth.ts', 'server.ts', 'src/context.ts']))
  })

  test('a failure leaves no folder behind', async ({ expect }) => {
    const root = writeApp(directory, { 'package.json': '{ "type": "module" }' })
    const { code, stderr } = await generateInHost(root)
    expect(code).toBe(1)
    expect(stderr).toContain("src/auth.ts doesn't exist")
    expect(readdirSync(root)).toEqual(['package.json'])
  })

  test('exits although the definition left a timer and a watcher open', async ({ expect }) => {
    const root = appWith({
      'src/auth.ts': `
        import { watch } from 'node:fs'
        watch('.')
        setInterval(() => {}, 1000)
        export default ${DEFINITION}`,
    })
    expect(await generate(root)).toEqual({ code: 0, stdout: WROTE, stderr: '' })
  })
})

describe("doesn't replace a file that it didn't write", () => {
  test.for([
    ['a module of the app', 'src/session.ts', '// Mine\nexport const session = 1'],
    ['the definition itself', 'src/auth.ts', `console.log('loaded')\nexport default ${DEFINITION}`],
    ['an empty file', 'src/database.ts', ''],
  ] as const)('%s', async ([, path, text], { expect }) => {
    const root = appWith({ [path]: text })
    expect(await generateInHost(root, ['--out', path])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${path} was not written by "sallyport generate". Move it, or pass --out.\n`,
    })
    expect(generated(root, path)).toBe(text)
  })
})

describe('sallyport generate --check', () => {
  test('exits with 1 if the file differs, and writes nothing', async ({ expect }) => {
    const root = appWith({})
    await generateInHost(root)
    expect(await generateInHost(root, ['--check'])).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
    const before = generated(root)
    writeFileSync(join(root, 'src/auth.ts'), `export default { plugins: [] }`)
    expect(await generate(root, ['--check'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'src/generated/database.ts differs from the auth definition. Run "sallyport generate".\n',
    })
    expect(generated(root)).toBe(before)
  })

  test('exits with 1 if the file is missing, without loading a definition that may import it', async ({
    expect,
  }) => {
    const root = appWith({ 'src/auth.ts': `import './generated/database.ts'\nexport default ${DEFINITION}` })
    await generateInHost(root)
    rmSync(join(root, 'src/generated/database.ts'))
    expect(await generateInHost(root, ['--check'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'src/generated/database.ts is missing. Run "sallyport generate".\n',
    })
    expect(readdirSync(join(root, 'src/generated'))).toEqual([])
  })

  test('ignores different line endings', async ({ expect }) => {
    const root = appWith({})
    await generateInHost(root)
    writeFileSync(join(root, 'src/generated/database.ts'), generated(root).replaceAll('\n', '\r\n'))
    expect(await generateInHost(root, ['--check'])).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
  })
})

describe("exits with 1 and writes nothing if the definition can't be loaded", () => {
  test.for([
    {
      fault: 'it does not parse',
      module: 'export default {',
      said: /could not be loaded: .*src\/auth\.ts:1/,
    },
    { fault: 'it throws', module: `throw new Error('no keys')`, said: /could not be loaded: no keys$/ },
    { fault: 'it throws a string', module: `throw 'no keys'`, said: /could not be loaded: no keys$/ },
    { fault: 'it imports a missing file', module: `import './none.ts'`, said: /loaded: .*none\.ts/ },
    { fault: 'it exports nothing', module: 'export const auth = 1', said: /isn't an auth definition/ },
    { fault: 'it exports something else', module: 'export default { config: {} }', said: /isn't an auth/ },
    { fault: 'it exports null', module: 'export default null', said: /isn't an auth definition/ },
    {
      fault: "it doesn't exist",
      module: null,
      said: /^src\/auth\.ts doesn't exist\. Pass the module .* --auth\.$/,
    },
    {
      fault: 'a migration fails',
      module: `export default { plugins: [{ id: 'a', migrations: { async '1'() { throw new Error('no table') } } }] }`,
      said: /^no table$/,
    },
  ])('$fault', async ({ module, said }, { expect }) => {
    const root = appWith({ 'src/auth.ts': module, 'src/other.ts': '' })
    const { code, stdout, stderr } = await generateInHost(root)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr.trimEnd()).toMatch(said)
    expect(readdirSync(join(root, 'src')).filter((name) => name !== 'auth.ts')).toEqual(['other.ts'])
  })

  test('keeps the existing file if the path of the definition is wrong', async ({ expect }) => {
    const root = appWith({})
    await generateInHost(root)
    const before = generated(root)
    expect(await generateInHost(root, ['--auth', 'src/aut.ts'])).toMatchObject({ code: 1, stdout: '' })
    expect(generated(root)).toBe(before)
  })

  test('it ends the process', async ({ expect }) => {
    const root = appWith({ 'src/auth.ts': 'process.exit(3)' })
    expect(await generate(root)).toEqual({ code: 3, stdout: '', stderr: '' })
    expect(readdirSync(join(root, 'src'))).toEqual(['auth.ts'])
  })
})

describe('exits with 2 for invalid arguments', () => {
  test.for([
    { args: ['--force'], message: 'unknown option' },
    { args: ['src/auth.ts'], message: 'too many arguments' },
  ])('$args', async ({ args, message }, { expect }) => {
    const { code, stdout, stderr } = await generateInHost(directory, args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})
