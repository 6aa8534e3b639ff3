import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, test as sequential } from 'vitest'
import { hostSallyport } from '../support/host-sallyport.ts'
import { type Run, runSallyport, startSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'
import { fakePackage, writeApp } from '../support/write-app.ts'

// Every call is a process: as many as there are processors run side by side.
const test = sequential.concurrent

const directory = temporaryDirectory()

/** An auth definition with a column: what `defineAuth` returns, as far as the command looks at it. */
const DEFINITION = `{ plugins: [{ id: 'app', userColumns: { nickname: { type: 'text' } } }] }`
const FILES = ['auth.ts', 'database.ts', 'session.ts']
const WROTE = 'wrote src/generated/auth.ts\nwrote src/generated/session.ts\nwrote src/generated/database.ts\n'

/** An app with an auth definition, and packages that stand in for the real ones. */
const appWith = (files: Readonly<Record<string, string | null>>) =>
  writeApp(directory, {
    'tsconfig.json': '{ "compilerOptions": { "allowImportingTsExtensions": true } }',
    'src/auth.ts': `export default ${DEFINITION}`,
    ...fakePackage('@sallyport/trpc', {
      '.': 'export const bindSession = () => ({})',
      './runtime': 'export const createAuthRuntime = () => ({})',
    }),
    ...files,
  })

const generate = (
  cwd: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Run> => runSallyport(['generate', ...args], { cwd, env })

const host = hostSallyport()
afterAll(host.stop)

/** In a process that the calls share: for those that load no definition. */
const refuse = (cwd: string, args: readonly string[]): Promise<Run> =>
  host.run(['generate', ...args], { cwd })

const generated = (root: string, folder = 'src/generated'): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(root, folder)).map((name) => [name, readFileSync(join(root, folder, name), 'utf8')]),
  )

describe('sallyport generate', () => {
  test('writes what binds the definition, and the second time nothing', async ({ expect }) => {
    const root = appWith({})
    expect(await generate(root)).toEqual({ code: 0, stdout: WROTE, stderr: '' })
    const files = generated(root)
    expect(Object.keys(files)).toEqual(FILES)
    expect(files['auth.ts']).toContain(`import authDefinition from '../auth.ts'`)
    expect(files['session.ts']).toContain(`import type authDefinition from '../auth.ts'`)
    expect(files['session.ts']).not.toMatch(/^import (?!type).*auth\.ts/m)
    expect(files['database.ts']).toContain(`nickname: { type: 'text' },`)
    expect(files['database.ts']).toContain('nickname: string | null')
    expect(await generate(root)).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
    expect(generated(root)).toEqual(files)
  })

  test('may be imported by the definition, which it needs first', async ({ expect }) => {
    const root = appWith({
      'src/auth.ts': `
        import { getAuth } from './generated/auth.ts'
        import { authColumns } from './generated/database.ts'
        import { createSensitiveSessionMiddleware, sessionMiddleware } from './generated/session.ts'
        export const used = [getAuth, authColumns.user, sessionMiddleware, createSensitiveSessionMiddleware({ maxAge: 1 })]
        export default ${DEFINITION}`,
    })
    expect(await generate(root)).toEqual({ code: 0, stdout: WROTE, stderr: '' })
    expect(generated(root)['auth.ts']).not.toContain('throw')
  })

  test('writes into the folder and with the endings that it is told', async ({ expect }) => {
    const root = appWith({ 'lib/definition.mts': `export default ${DEFINITION}` })
    const args = ['--auth', './lib/definition.mts', '--out', 'lib/made', '--import-extension', 'js']
    expect(await generate(root, args)).toMatchObject({ code: 0, stderr: '' })
    expect(generated(root, 'lib/made')['auth.ts']).toContain(`from '../definition.mjs'`)
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

describe('what somebody else has written is not replaced', () => {
  test.for([
    ['a module of the app', 'src/session.ts', '// Mine\nexport const session = 1'],
    ['the definition itself', 'src/auth.ts', `console.log('loaded')\nexport default ${DEFINITION}`],
    ['an empty file', 'src/database.ts', ''],
  ] as const)('%s', async ([, path, text], { expect }) => {
    const root = appWith({ 'src/auth.ts': null, [path]: text })
    const auth = path === 'src/auth.ts' ? path : 'src/definition.ts'
    expect(await refuse(root, ['--auth', auth, '--out', './src'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `${path} was not written by "sallyport generate" and would be lost: move it, or name another folder by --out\n`,
    })
    expect(generated(root, 'src')).toEqual({ [path.slice('src/'.length)]: text })
  })
})

describe('without a definition there are stubs', () => {
  test.for([
    { lack: 'no module', module: null, missing: 'src/auth.ts does not exist' },
    {
      lack: 'no default export',
      module: 'export const auth = 1',
      missing: 'src/auth.ts has no default export',
    },
  ])('$lack', async ({ module, missing }, { expect }) => {
    const root = appWith({ 'src/auth.ts': module })
    const stderr = `${missing}: the files are stubs, which throw when they are called\n`
    expect(await generate(root, ['--auth', join(root, 'src/auth.ts'), '--out', 'src/generated'])).toEqual({
      code: 0,
      stdout: WROTE,
      stderr,
    })
    for (const name of ['auth.ts', 'session.ts']) expect(generated(root)[name]).toContain(`'${missing}'`)
    expect(await generate(root, ['--check'])).toEqual({ code: 0, stdout: 'up to date\n', stderr })
  })

  test('which give way to a definition that imports them', async ({ expect }) => {
    const root = appWith({ 'src/auth.ts': null })
    await generate(root)
    writeFileSync(join(root, 'src/auth.ts'), `import './generated/auth.ts'\nexport default ${DEFINITION}`)
    expect(await generate(root)).toEqual({ code: 0, stdout: WROTE, stderr: '' })
    expect(generated(root)['auth.ts']).toContain('createAuthRuntime')
  })
})

describe('sallyport generate --check', () => {
  test('names the files that differ, with 1, and writes nothing', async ({ expect }) => {
    const root = appWith({})
    await generate(root)
    expect(await generate(root, ['--check'])).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' })
    const before = generated(root)
    writeFileSync(join(root, 'src/auth.ts'), `export default { plugins: [] }`)
    expect(await generate(root, ['--check'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'src/generated/database.ts differs from the auth definition: run "sallyport generate"\n',
    })
    expect(generated(root)).toEqual(before)
  })

  test('names the files that are missing, without loading a definition that may import them', async ({
    expect,
  }) => {
    const root = appWith({ 'src/auth.ts': `import './generated/auth.ts'\nexport default ${DEFINITION}` })
    await generate(root)
    rmSync(join(root, 'src/generated/auth.ts'))
    expect(await generate(root, ['--check'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'src/generated/auth.ts is missing: run "sallyport generate"\n',
    })
    expect(Object.keys(generated(root))).toEqual(['database.ts', 'session.ts'])
  })
})

describe('what cannot be loaded ends with 1, and nothing is written', () => {
  test('it does not parse', async ({ expect }) => {
    const root = appWith({ 'src/auth.ts': 'export default {' })
    const { code, stdout, stderr } = await generate(root)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^src\/auth\.ts could not be loaded: .*src\/auth\.ts:1/)
    expect(readdirSync(join(root, 'src'))).toEqual(['auth.ts'])
  })

  test('it ends the process', async ({ expect }) => {
    const root = appWith({ 'src/auth.ts': 'process.exit(3)' })
    expect(await generate(root)).toEqual({ code: 3, stdout: '', stderr: '' })
    expect(readdirSync(join(root, 'src'))).toEqual(['auth.ts'])
  })

  test('what was generated before stays', async ({ expect }) => {
    const root = appWith({})
    await generate(root)
    const before = generated(root)
    writeFileSync(join(root, 'src/auth.ts'), `throw new Error('no keys')`)
    expect(await generate(root)).toMatchObject({ code: 1 })
    expect(generated(root)).toEqual(before)
  })

  test.for([
    {
      driver: 'is not installed',
      code: `next('not-installed', context)`,
      told: /^sallyport generate reads .* for which it needs better-sqlite3: .*\n$/,
    },
    {
      driver: 'is broken',
      code: `(() => { throw new Error('built for another machine') })()`,
      told: /^built for another machine\n$/,
    },
  ])('the driver of the database in memory $driver', async ({ code: instead, told }, { expect }) => {
    const hook = `import { registerHooks } from 'node:module'
      registerHooks({ resolve: (id, context, next) => id === 'better-sqlite3' ? ${instead} : next(id, context) })`
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(hook)}`
    const { code, stderr } = await generate(appWith({}), [], { NODE_OPTIONS })
    expect(code).toBe(1)
    expect(stderr).toMatch(told)
  })
})

describe('a call that makes no sense ends with 2', () => {
  test.for([
    { args: ['--check', '--watch'], message: 'cannot be used with' },
    { args: ['--import-extension', 'mjs'], message: 'Allowed choices are ts, js, none' },
    { args: ['--force'], message: 'unknown option' },
    { args: ['src/auth.ts'], message: 'too many arguments' },
  ])('$args', async ({ args, message }, { expect }) => {
    const { code, stdout, stderr } = await refuse(directory, args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})

describe('sallyport generate --watch', () => {
  // Several processes, one after the other.
  const PATIENT = { timeout: 60_000 }
  const columnOf = (name: string) =>
    `export default { plugins: [{ id: 'app', userColumns: { ${name}: { type: 'text' } } }] }`
  const isLive = (pid: number) => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }

  test(
    'generates after every change, goes on after one that cannot be loaded, and ends with 0',
    PATIENT,
    async ({ expect, onTestFinished }) => {
      const root = appWith({
        'src/auth.ts': `export { default } from './deep/columns.ts'`,
        'src/deep/columns.ts': columnOf('one'),
      })
      const running = startSallyport(['generate', '--watch'], { cwd: root })
      onTestFinished(() => void running.process.kill('SIGKILL'))
      await running.untilPrinted((lines) => lines.length === 3)
      expect(generated(root)['database.ts']).toContain('one: string')

      writeFileSync(join(root, 'src/deep/columns.ts'), columnOf('two'))
      await running.untilPrinted((lines) => lines.length === 4)
      expect(generated(root)['database.ts']).toContain('two: string')

      writeFileSync(join(root, 'src/deep/columns.ts'), `throw new Error('broken')`)
      await running.untilFailed((lines) => lines.some((line) => line.endsWith('Error: broken')))
      expect(generated(root)['database.ts']).toContain('two: string')

      writeFileSync(join(root, 'src/deep/columns.ts'), columnOf('three'))
      await running.untilPrinted((lines) => lines.length === 5)
      expect(generated(root)['database.ts']).toContain('three: string')

      running.process.kill('SIGTERM')
      const { code, stdout } = await running.ended
      expect(code).toBe(0)
      expect(stdout).toBe(`${WROTE}${'wrote src/generated/database.ts\n'.repeat(2)}`)
    },
  )

  test(
    'leaves no process behind, and looks again at what has changed while it was at work',
    PATIENT,
    async ({ expect, onTestFinished }) => {
      const root = appWith({
        'src/auth.ts': `
        import { existsSync, writeFileSync } from 'node:fs'
        writeFileSync('pid', String(process.pid))
        process.on('SIGTERM', () => {})
        console.log('begun')
        while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 10))
        export default ${DEFINITION}`,
      })
      const running = startSallyport(['generate', '--watch', '--import-extension', 'none'], { cwd: root })
      onTestFinished(() => void running.process.kill('SIGKILL'))
      await running.untilPrinted((lines) => lines.includes('begun'))
      mkdirSync(join(root, 'src/deep'))
      writeFileSync(join(root, 'src/other.ts'), '')
      // The change is noticed before the first run may go on, or after it: either way there is a second.
      writeFileSync(join(root, 'go'), '')
      await running.untilPrinted((lines) => lines.includes('up to date'))
      expect(generated(root)['auth.ts']).toContain(`from '../auth'\n`)

      rmSync(join(root, 'go'))
      writeFileSync(join(root, 'src/other.ts'), '//')
      await running.untilPrinted((lines) => lines.filter((line) => line === 'begun').length === 3)
      const pid = Number(readFileSync(join(root, 'pid'), 'utf8'))
      expect(isLive(pid)).toBe(true)
      running.process.kill('SIGINT')
      expect(await running.ended).toMatchObject({ code: 0 })
      await until(() => !isLive(pid))
    },
  )

  test('ends with 1 where there is no folder to watch', async ({ expect }) => {
    const { code, stderr } = await generate(appWith({}), ['--watch', '--auth', 'none/auth.ts'])
    expect(code).toBe(1)
    expect(stderr).toContain('none')
  })
})
