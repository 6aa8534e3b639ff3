import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, test as sequential } from 'vitest'
import { hostSallyport } from '../support/host-sallyport.ts'
import { type Run, runSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { CLEAN_APP, writeApp } from '../support/write-app.ts'

const test = sequential.concurrent

const directory = temporaryDirectory()
const HELPER = `import { getAuth } from './generated/auth.ts'\nexport const help = getAuth`

const host = hostSallyport()
afterAll(host.stop)

/** Runs `sallyport doctor` in the folder of an app, in a process that the calls share. */
const doctor = (cwd: string, args: readonly string[] = []): Promise<Run> =>
  host.run(['doctor', ...args], { cwd })
const doctorAlone = (cwd: string, env: Readonly<Record<string, string>> = {}): Promise<Run> =>
  runSallyport(['doctor'], { cwd, env })

test('a person reads a line for each module: whether it carries the definition, its size, and how it got there', async ({
  expect,
}) => {
  const { code, stdout, stderr } = await doctorAlone(writeApp(directory, CLEAN_APP))
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const lines = stdout.trimEnd().split('\n')
  expect(lines.map((line) => line.replaceAll(/\d+\.\d kB/g, '# kB').replaceAll(/ {2,}/g, ' | '))).toEqual([
    'module | auth definition | minified | gzipped | brought in by',
    'src/procedures.ts | no | # kB | # kB',
    'src/generated/session.ts | no | # kB | # kB',
    'src/authed-action.ts | carried | # kB | # kB | src/generated/auth.ts > src/auth.ts',
    'src/routers/app.ts | carried | # kB | # kB | src/routers/organizations.ts > src/generated/auth.ts > src/auth.ts',
    'src/routers/notes.ts | no | # kB | # kB',
    'src/routers/organizations.ts | carried | # kB | # kB | src/generated/auth.ts > src/auth.ts',
    'src/routers/report.ts | carried | # kB | # kB | src/authed-action.ts > src/generated/auth.ts > src/auth.ts',
    '',
    'The auth definition is carried by those modules alone that may.',
  ])
  // Aligned: every size ends where the word above it does.
  const [header = '', ...rows] = lines.slice(0, 8)
  const end = header.indexOf('gzipped') + 'gzipped'.length
  for (const row of rows) expect(row.slice(0, end)).toMatch(/\d\.\d kB$/)
})

test('1 where one must not carry it: the imports file by file, and how to mend it', async ({ expect }) => {
  const root = writeApp(directory, {
    ...CLEAN_APP,
    'src/helper.ts': HELPER,
    'src/routers/notes.ts': `import '../helper.ts'\n${CLEAN_APP['src/routers/notes.ts']}`,
  })
  const { code, stdout, stderr } = await doctor(root)
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout.slice(stdout.indexOf('\n\n') + 2)).toBe(
    `src/routers/notes.ts must not carry the auth definition:
  imports src/helper.ts
  imports src/generated/auth.ts
A procedure module that needs getAuth imports it from generated/auth.ts itself, or is built from the action builder. Take getAuth out of the second file: let it be given what getAuth(ctx) returned.

1 violation
`,
  )
})

test('--json prints the same for programs, with files under names of its own choice', async ({ expect }) => {
  const root = writeApp(directory, {
    'lib/main.ts': `import './post.ts'\nimport './definition.ts'`,
    'lib/definition.ts': `export default 1`,
    'lib/made/auth.ts': `import definition from '../definition.ts'\nexport const getAuth = () => definition`,
    'lib/trpc.ts': `export const post = globalThis.t.procedure`,
    'lib/action.ts': `import { getAuth } from './made/auth.ts'\nexport const action = getAuth()`,
    'lib/post.ts': `import { post } from './trpc.ts'\nimport { action } from './helper.ts'\npost.query(action)`,
    'lib/helper.ts': `export * from './action.ts'`,
  })
  const args = ['--entry', 'lib/main.ts', '--procedures', 'lib/trpc.ts', '--action', 'lib/action.ts']
  const names = ['--auth', './lib/definition.ts', '--out', 'lib/made']
  const { code, stdout } = await doctor(root, [...args, ...names, '--json'])
  expect(code).toBe(1)
  const size = { minified: expect.any(Number), gzipped: expect.any(Number) }
  expect(JSON.parse(stdout)).toEqual({
    modules: [
      { file: 'lib/trpc.ts', role: 'shared', carriesDefinition: false, chain: [], ...size },
      {
        file: 'lib/helper.ts',
        role: 'builder',
        carriesDefinition: true,
        chain: ['lib/helper.ts', 'lib/action.ts', 'lib/made/auth.ts', 'lib/definition.ts'],
        ...size,
      },
      {
        file: 'lib/action.ts',
        role: 'action',
        carriesDefinition: true,
        chain: ['lib/action.ts', 'lib/made/auth.ts', 'lib/definition.ts'],
        ...size,
      },
      {
        file: 'lib/post.ts',
        role: 'procedures',
        carriesDefinition: true,
        chain: ['lib/post.ts', 'lib/helper.ts', 'lib/action.ts', 'lib/made/auth.ts', 'lib/definition.ts'],
        ...size,
      },
    ],
    violations: [
      {
        rule: 'other-builder',
        chain: ['lib/helper.ts', 'lib/action.ts', 'lib/made/auth.ts'],
        fix: expect.stringContaining('action builder'),
      },
    ],
  })
})

describe('a call that makes no sense ends with 2', () => {
  test.for([
    { call: 'no app', args: [], message: 'neither src/server.ts nor src/procedures.ts nor' },
    {
      call: 'a file that is not there',
      args: ['--action', 'src/none.ts'],
      message: '--action: there is no src/none.ts',
    },
    { call: 'an option nobody knows', args: ['--fix'], message: 'unknown option' },
    { call: 'an argument', args: ['src'], message: 'too many arguments' },
    {
      call: 'an app without procedures',
      args: ['--entry', 'empty.ts'],
      message: 'No module with procedures was found',
    },
  ])('$call', async ({ args, message }, { expect }) => {
    writeFileSync(join(directory, 'empty.ts'), 'console.log(1)')
    const { code, stdout, stderr } = await doctor(directory, args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('    at ')
  })
})

describe('what cannot be done ends with 1 and its reason', () => {
  /** Options for Node that do something else where the bundler is imported. */
  const onBundler = (code: string) => {
    const hook = `import { registerHooks } from 'node:module'
      registerHooks({ resolve: (id, context, next) => id.startsWith('rolldown') ? ${code} : next(id, context) })`
    return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
  }

  test('without the bundler', async ({ expect }) => {
    const env = onBundler(`next('not-installed', context)`)
    const { code, stdout, stderr } = await doctorAlone(writeApp(directory, CLEAN_APP), env)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^sallyport doctor reads .* rolldown, which is not installed: .*\n$/)
  })

  test('with a bundler that is broken', async ({ expect }) => {
    const env = onBundler(`(() => { throw new Error('no binding for this machine') })()`)
    const run = await doctorAlone(writeApp(directory, CLEAN_APP), env)
    expect(run).toEqual({ code: 1, stdout: '', stderr: 'no binding for this machine\n' })
  })

  test('with a file that is not there', async ({ expect }) => {
    const { code, stdout, stderr } = await doctor(
      writeApp(directory, { 'src/server.ts': `import './none.ts'` }),
    )
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('./none.ts')
  })
})
