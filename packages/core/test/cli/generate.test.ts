import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, test as sequential } from 'vitest'
import { hostSallyport } from '../support/host-sallyport.ts'
import { type Run, runSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeApp } from '../support/write-app.ts'

// Every call is a process: as many as there are processors run side by side.
const test = sequential.concurrent

const directory = temporaryDirectory()

/** An auth definition with a column: what `defineAuth` returns, as far as the command looks at it. */
const DEFINITION = `{ plugins: [{ id: 'app', userColumns: { nickname: { type: 'text' } } }] }`
const WROTE = 'wrote src/generated/database.ts\n'

/** An app with an auth definition. */
const appWith = (files: Readonly<Record<string, string | null>>) =>
  writeApp(directory, { 'src/auth.ts': `export default ${DEFINITION}`, ...files })

const generate = (
  cwd: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Run> => runSallyport(['generate', ...args], { cwd, env })

const host = hostSallyport()
afterAll(host.stop)

/** In a process that the calls share: for those that load no definition. */
const reject = (cwd: string, args: readonly string[]): Promise<Run> =>
  host.run(['generate', ...args], { cwd })

const generated = (root: string, path = 'src/generated/database.ts'): string =>
  readFileSync(join(root, path), 'utf8')

describe('sallyport generate', () => {
  test('writes the columns and tables of the definition, and the second time nothing', async ({ expect }) => {
    const root = appWith({})
    expect(await generate(root)).toEqual({ code: 0, stdout: WROTE, stderr: '' })
    const file = generated(root)
    expect(readdirSync(join(root, 'src/generated'))).toEqual(['database.ts'])
    expect(file).toContain('"nickname": {\n      "type": "text"')
    expect(file).toContain('"nickname": string | null')
    const { ino } = statSync(join(root, 'src/generated/database.ts'))
    expect(await generate(root)).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
    expect(generated(root)).toBe(file)
    expect(statSync(join(root, 'src/generated/database.ts')).ino).toBe(ino)
  })

  test('may be imported by the definition, which it needs first', async ({ expect }) => {
    const root = appWith({
      'src/auth.ts': `
        import { authColumns } from './generated/database.ts'
        export const used = authColumns.user
        export default ${DEFINITION}`,
    })
    expect(await generate(root)).toEqual({ code: 0, stdout: WROTE, stderr: '' })
    expect(generated(root)).toContain('nickname')
  })

  test('writes the file that it is told', async ({ expect }) => {
    const root = appWith({ 'lib/definition.mts': `export default ${DEFINITION}` })
    const args = ['--auth', './lib/definition.mts', '--out', 'lib/made/tables.ts']
    expect(await generate(root, args)).toMatchObject({ code: 0, stderr: '' })
    expect(generated(root, 'lib/made/tables.ts')).toContain('nickname')
    expect(existsSync(join(root, 'src/generated'))).toBe(false)
  })

  test('ends although the definition has left something open', async ({ expect }) => {
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

describe('a file from elsewhere is not replaced', () => {
  test.for([
    ['a module of the app', 'src/session.ts', '// Mine\nexport const session = 1'],
    ['the definition itself', 'src/auth.ts', `console.log('loaded')\nexport default ${DEFINITION}`],
    ['an empty file', 'src/database.ts', ''],
  ] as const)('%s', async ([, path, text], { expect }) => {
    const root = appWith({ [path]: text })
    expect(await reject(root, ['--out', path])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${path} was not written by "sallyport generate". Move it, or pass another file as --out.\n`,
    })
    expect(generated(root, path)).toBe(text)
  })
})

describe('sallyport generate --check', () => {
  test('says with 1 that the file differs, and writes nothing', async ({ expect }) => {
    const root = appWith({})
    await generate(root)
    expect(await generate(root, ['--check'])).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
    const before = generated(root)
    writeFileSync(join(root, 'src/auth.ts'), `export default { plugins: [] }`)
    expect(await generate(root, ['--check'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'src/generated/database.ts differs from the auth definition. Run "sallyport generate".\n',
    })
    expect(generated(root)).toBe(before)
  })

  test('says with 1 that the file is missing, without loading a definition that may import it', async ({
    expect,
  }) => {
    const root = appWith({ 'src/auth.ts': `import './generated/database.ts'\nexport default ${DEFINITION}` })
    await generate(root)
    rmSync(join(root, 'src/generated/database.ts'))
    expect(await reject(root, ['--check'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'src/generated/database.ts is missing. Run "sallyport generate".\n',
    })
    expect(readdirSync(join(root, 'src/generated'))).toEqual([])
  })

  test('takes other line ends for the same', async ({ expect }) => {
    const root = appWith({})
    await generate(root)
    writeFileSync(join(root, 'src/generated/database.ts'), generated(root).replaceAll('\n', '\r\n'))
    expect(await generate(root, ['--check'])).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
  })
})

describe('what cannot be loaded ends with 1, and nothing is written', () => {
  test.for([
    {
      fault: 'it does not parse',
      module: 'export default {',
      said: /could not be loaded: .*src\/auth\.ts:1/,
    },
    { fault: 'it throws', module: `throw new Error('no keys')`, said: /could not be loaded: no keys$/ },
    { fault: 'it throws no error', module: `throw 'no keys'`, said: /could not be loaded: no keys$/ },
    { fault: 'it imports what is not there', module: `import './none.ts'`, said: /loaded: .*none\.ts/ },
    { fault: 'it exports nothing', module: 'export const auth = 1', said: /isn't an auth definition/ },
    { fault: 'it exports something else', module: 'export default { config: {} }', said: /isn't an auth/ },
    { fault: 'it exports null', module: 'export default null', said: /isn't an auth definition/ },
    {
      fault: 'it is not there',
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
    const { code, stdout, stderr } = await reject(root, [])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr.trimEnd()).toMatch(new RegExp(said.source, 's'))
    expect(readdirSync(join(root, 'src')).filter((name) => name !== 'auth.ts')).toEqual(['other.ts'])
  })

  test('the definition is named wrongly: what was generated before stays', async ({ expect }) => {
    const root = appWith({})
    await generate(root)
    const before = generated(root)
    expect(await reject(root, ['--auth', 'src/aut.ts'])).toMatchObject({ code: 1, stdout: '' })
    expect(generated(root)).toBe(before)
  })

  test('it ends the process', async ({ expect }) => {
    const root = appWith({ 'src/auth.ts': 'process.exit(3)' })
    expect(await generate(root)).toEqual({ code: 3, stdout: '', stderr: '' })
    expect(readdirSync(join(root, 'src'))).toEqual(['auth.ts'])
  })
})

describe('a call that makes no sense ends with 2', () => {
  test.for([
    { args: ['--force'], message: 'unknown option' },
    { args: ['src/auth.ts'], message: 'too many arguments' },
  ])('$args', async ({ args, message }, { expect }) => {
    const { code, stdout, stderr } = await reject(directory, args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})
