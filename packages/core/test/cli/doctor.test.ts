import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'
import { afterAll, describe, test as sequential } from 'vitest'
import { hostSallyport } from '../support/host-sallyport.ts'
import { AUTH_DEFINITION, type Run, runSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { CLEAN_APP, writeApp } from '../support/write-app.ts'

const test = sequential.concurrent

const directory = temporaryDirectory()
const CORE = new URL('../../src/', import.meta.url)

const host = hostSallyport()
afterAll(host.stop)

/** Runs `sallyport doctor` in an app's folder, in a process that the calls share. */
const doctor = (cwd: string, args: readonly string[] = []): Promise<Run> =>
  host.run(['doctor', ...args], { cwd })
const boundary = (cwd: string, env: Readonly<Record<string, string>> = {}): Promise<Run> =>
  runSallyport(['doctor', 'boundary'], { cwd, env })

const HELPER = {
  'src/helper.ts': `import { getAuth } from './get-auth.ts'\nexport const help = getAuth`,
  'src/routers/notes.ts': `import '../helper.ts'\n${CLEAN_APP['src/routers/notes.ts']}`,
}

/** Returns the module of a definition with these variables. */
const definitionOf = (jwks: string, signingKeys: unknown, plugins = '[]') => `
  import { admin } from '${CORE}plugins/admin.ts'
  import { defineAuthConfig, dynamicJwks, staticJwks } from '${CORE}index.ts'
  import { defineAuth } from '${CORE}auth.ts'
  const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', jwks: ${jwks} })
  export default defineAuth({ config, signingKeys: ${JSON.stringify(signingKeys)}, plugins: ${plugins} })`

const [one, two] = [await createSigningKey(), await createSigningKey()]
const publicHalves = (...keys: readonly object[]) =>
  `staticJwks(${JSON.stringify(parseSigningKeys({ keys }).publicJwks)})`

test('a correct app prints a line for each check and exits with 0', async ({ expect }) => {
  const root = writeApp(directory, {
    ...CLEAN_APP,
    'src/auth.ts': definitionOf(publicHalves(one, two), { keys: [one, two] }, '[admin()]'),
  })
  const { code, stdout, stderr } = await runSallyport(['doctor'], { cwd: root })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(
    stdout.replace(/\d+ modules/, '# modules'),
  ).toBe(`ok      configuration  http://localhost:3000, plugins: admin
ok      keys           ${one.kid} (Ed25519) signs. Keys that verify: 2
ok      boundary       src/procedures.ts doesn't reach src/auth.ts (# modules, 4 with procedures)
`)
})

test('an app with its procedures in router.ts and without a type in package.json needs no options, and prints no warning', async ({
  expect,
}) => {
  const root = writeApp(directory, {
    'package.json': '{}',
    'src/auth.ts': definitionOf(publicHalves(one), { keys: [one] }),
    'src/router.ts': `
      import { initTRPC } from '@trpc/server'
      const t = initTRPC.create()
      export const appRouter = t.router({ health: t.procedure.query(() => 1) })`,
    'src/server.ts': `import './auth.ts'\nimport './router.ts'`,
  })
  const { code, stdout, stderr } = await runSallyport(['doctor'], { cwd: root })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('http://localhost:3000, plugins: none\n')
  expect(stdout).toContain("src/router.ts doesn't reach src/auth.ts (")
})

test('a router.ts that creates no procedures is not checked in place of the module that does', async ({
  expect,
}) => {
  const { 'src/procedures.ts': procedures = '', 'src/routers/app.ts': router = '', ...rest } = CLEAN_APP
  const files = { ...rest, 'src/trpc.ts': procedures, 'src/router.ts': router }
  const { code, stderr } = await doctor(writeApp(directory, files), ['boundary'])
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "src/procedures.ts doesn't exist. Pass --procedures.\n",
  })
})

test('in an app with Better Auth, a procedure module may import the guard itself, but not through others', async ({
  expect,
}) => {
  const notes = (from: string) => `
    import { getAuth } from '${from}'
    import { protectedProcedure, router } from '../procedures.ts'
    export const notes = router({ list: protectedProcedure.query(({ ctx }) => getAuth(ctx).api) })`
  const app = {
    ...CLEAN_APP,
    'src/auth.ts': `import { betterAuth } from 'better-auth'\nexport const auth = betterAuth({})`,
    'src/guard.ts': `
      import type { BetterAuthGuard } from '@sallyport/trpc/better-auth'
      import { auth } from './auth.ts'
      export const guard: BetterAuthGuard<typeof auth> = auth
      export const { getAuth } = guard`,
    'src/session.ts': `import type { guard } from './guard.ts'\nexport const sessionMiddleware: typeof guard = {}`,
    'src/helper.ts': `export { getAuth } from './guard.ts'`,
    'src/get-auth.ts': null,
    'src/authed-action.ts': null,
    'src/routers/app.ts': null,
    'src/routers/organizations.ts': null,
    'src/routers/report.ts': null,
    'src/app.ts': `export { guard } from './guard.ts'\nimport './routers/notes.ts'`,
  }
  const check = async (files: object) => {
    const { code, stdout } = await doctor(writeApp(directory, { ...app, ...files }), ['--json'])
    const [{ check, violations = [] }, ...others] = JSON.parse(stdout)
    expect({ check, others }).toEqual({ check: 'boundary', others: [] })
    return { code, chains: violations.map(({ chain }: { chain: string[] }) => chain) }
  }
  const direct = { 'src/routers/notes.ts': notes('../guard.ts') }
  expect(await check(direct)).toEqual({ code: 0, chains: [] })
  const indirect = ['src/routers/notes.ts', 'src/helper.ts', 'src/guard.ts']
  expect(await check({ 'src/routers/notes.ts': notes('../helper.ts') })).toEqual({
    code: 1,
    chains: [indirect],
  })
  const value = {
    'src/session.ts': `import { guard } from './guard.ts'\nexport const sessionMiddleware = guard`,
  }
  const shared = ['src/procedures.ts', 'src/session.ts', 'src/guard.ts']
  expect(await check({ ...direct, ...value })).toEqual({ code: 1, chains: [shared] })
})

test('an app with its own guard.ts gets all checks', async ({ expect }) => {
  const files = {
    'src/auth.ts': definitionOf(publicHalves(one), { keys: [one] }),
    'src/guard.ts': 'export const guard = 1',
    'src/procedures.ts': `export { guard } from './guard.ts'`,
  }
  const { code, stdout } = await doctor(writeApp(directory, files), ['--json'])
  const checks = JSON.parse(stdout).map(({ check }: { check: string }) => check)
  expect({ code, checks }).toEqual({ code: 0, checks: ['configuration', 'keys', 'boundary'] })
})

test('exits with 1 if a module must not import the definition, and prints the imports and the fix', async ({
  expect,
}) => {
  const root = writeApp(directory, { ...CLEAN_APP, ...HELPER })
  expect(await doctor(root, ['boundary'])).toEqual({
    code: 1,
    stderr: '',
    stdout: `failed  boundary       src/routers/notes.ts must not carry the auth definition:
                         imports src/helper.ts
                         imports src/get-auth.ts
                       A procedure module that needs getAuth must import it itself, or use the action builder. Remove getAuth from the second file, and pass it what getAuth(ctx) returned.
`,
  })
})

test('--json prints the same for programs, also with files under other names', async ({ expect }) => {
  const root = writeApp(directory, {
    'lib/main.ts': `import './post.ts'\nimport './definition.ts'`,
    'lib/definition.ts': `export default 1`,
    'lib/made.ts': `import definition from './definition.ts'\nexport const getAuth = () => definition`,
    'lib/trpc.ts': `export const post = globalThis.t.procedure`,
    'lib/action.ts': `import { getAuth } from './made.ts'\nexport const action = getAuth()`,
    'lib/post.ts': `import { post } from './trpc.ts'\nimport { action } from './helper.ts'\npost.query(action)`,
    'lib/helper.ts': `export * from './action.ts'`,
  })
  const args = ['--entry', 'lib/main.ts', '--procedures', 'lib/trpc.ts', '--action', 'lib/action.ts']
  const names = ['--auth', './lib/definition.ts', '--runtime', 'lib/made.ts']
  const { code, stdout } = await doctor(root, ['boundary', ...args, ...names, '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toEqual([
    {
      check: 'boundary',
      ok: false,
      summary: expect.stringContaining('lib/helper.ts must not carry the auth definition'),
      violations: [
        {
          rule: 'other-builder',
          chain: ['lib/helper.ts', 'lib/action.ts', 'lib/made.ts'],
          fix: expect.stringContaining('action builder'),
        },
      ],
    },
  ])
})

test('reports that not all modules were checked in an app without a server', async ({ expect }) => {
  const { code, stdout } = await doctor(writeApp(directory, { ...CLEAN_APP, 'src/server.ts': null }), [
    'boundary',
  ])
  expect(code).toBe(0)
  expect(stdout).toContain(`src/server.ts doesn't exist, so not all were checked.`)
})

describe('prints why the configuration or the keys fail', () => {
  const sameKid = { ...two, kid: one.kid }
  test.for([
    {
      fault: 'a definition that throws',
      module: definitionOf(`staticJwks('{}')`, undefined),
      said: [/^failed {2}configuration {2}src\/auth\.ts could not be loaded: JWKS/, /^failed {2}keys/],
    },
    {
      fault: "a default export that isn't a definition",
      module: 'export default {}',
      said: [/^failed {2}configuration .* isn't an auth definition/, /^failed {2}keys/],
    },
    {
      fault: 'no signing keys',
      module: definitionOf(publicHalves(one), undefined),
      said: [/^ok/, /^failed {2}keys {11}SIGNING_KEYS is not set/],
    },
    {
      fault: 'a setting that a plugin misses',
      module: definitionOf(
        publicHalves(one),
        { keys: [one] },
        "[{ id: 'other', missingSetting: () => 'OTHER is not set. Set it.' }]",
      ),
      said: [/^failed {2}configuration {2}OTHER is not set. Set it\.$/, /^ok {6}keys/],
    },
    {
      fault: 'an unpublished signing key',
      module: definitionOf(publicHalves(one), { keys: [one, two] }),
      said: [/^ok/, new RegExp(`^failed  keys {11}SIGNING_KEYS has the key ${two.kid}, and JWKS doesn't`)],
    },
    {
      fault: 'another public key under the same id',
      module: definitionOf(publicHalves(sameKid), { keys: [one] }),
      said: [/^ok/, new RegExp(`^failed  keys {11}Step 1 rejects a JWT that the key ${one.kid} signed`)],
    },
    {
      fault: "a key set that can't be fetched",
      module: definitionOf(`dynamicJwks('http://127.0.0.1:1/jwks')`, { keys: [one] }),
      said: [/^ok/, /^failed {2}keys {11}The keys of http:\/\/localhost:3000 can't be loaded\. ./],
    },
  ])('$fault', async ({ module, said }, { expect }) => {
    const root = writeApp(directory, { 'src/auth.ts': module })
    const { code, stdout, stderr } = await doctor(root, ['configuration', 'keys'])
    expect(code).toBe(1)
    // The report of the app's own `onFailure`.
    expect(stderr).toMatch(/^(sallyport: KEYS_UNAVAILABLE .*)?$/s)
    const lines = stdout.trimEnd().split('\n')
    for (const [place, line] of said.entries()) expect(lines[place]).toMatch(line)
    expect(lines).toHaveLength(2)
  })
})

test('rejects a localhost base URL in production', async ({ expect }) => {
  const root = writeApp(directory, { 'src/auth.ts': definitionOf(publicHalves(one), { keys: [one] }) })
  const env = { NODE_ENV: 'production' }
  expect(await host.run(['doctor', 'configuration'], { cwd: root, env })).toEqual({
    code: 1,
    stderr: '',
    stdout:
      'failed  configuration  baseUrl is http://localhost:3000, and NODE_ENV is production. Set it to the https address of the app.\n',
  })
})

describe('exits with 2 for invalid arguments', () => {
  test.for([
    { call: 'no app', args: ['boundary'], message: `src/procedures.ts doesn't exist. Pass --procedures.` },
    {
      call: 'an app without a definition',
      args: ['boundary', '--procedures', 'empty.ts'],
      message: `src/auth.ts doesn't exist. Pass --auth.`,
    },
    {
      call: 'a missing file',
      args: ['boundary', '--procedures', 'empty.ts', '--auth', AUTH_DEFINITION, '--action', 'src/none.ts'],
      message: `src/none.ts doesn't exist. Pass --action.`,
    },
    { call: 'an unknown option', args: ['--fix'], message: 'unknown option' },
    { call: 'an unknown check', args: ['src'], message: 'Allowed choices are configuration, keys' },
  ])('$call', async ({ args, message }, { expect }) => {
    writeFileSync(join(directory, 'empty.ts'), 'console.log(1)')
    const { code, stdout, stderr } = await doctor(directory, args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('    at ')
  })
})

describe("exits with 1 and the reason if the check can't run", () => {
  /** Returns Node options that replace the bundler where it is imported. */
  const onBundler = (code: string) => {
    const hook = `import { registerHooks } from 'node:module'
      registerHooks({ resolve: (id, context, next) => id.startsWith('rolldown') ? ${code} : next(id, context) })`
    return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` }
  }

  test('without rolldown', async ({ expect }) => {
    const run = await boundary(writeApp(directory, CLEAN_APP), onBundler(`next('not-installed', context)`))
    expect(run).toMatchObject({ code: 1, stderr: '' })
    expect(run.stdout).toMatch(/^failed {2}boundary {7}This command needs rolldown, .* Run .*\n$/)
  })

  test('with a broken rolldown', async ({ expect }) => {
    const env = onBundler(`(() => { throw new Error('no binding for this machine') })()`)
    const { code, stdout } = await boundary(writeApp(directory, CLEAN_APP), env)
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: 'failed  boundary       no binding for this machine\n',
    })
  })

  test('with a missing file', async ({ expect }) => {
    const root = writeApp(directory, { ...CLEAN_APP, 'src/server.ts': `import './none.ts'` })
    const { code, stdout } = await doctor(root, ['boundary'])
    expect(code).toBe(1)
    expect(stdout).toContain('./none.ts')
  })
})
