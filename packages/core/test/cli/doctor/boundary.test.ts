import { existsSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkBoundary } from '../../../src/cli/doctor/boundary.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { CLEAN_APP, writeApp } from '../../support/write-app.ts'

const directory = temporaryDirectory()

/** Checks an app in a folder with the default file names. */
function checkApp(folder: string) {
  const root = realpathSync(folder)
  const find = (name: string) => (existsSync(join(root, 'src', name)) ? join(root, 'src', name) : null)
  return checkBoundary({
    root,
    entry: find('server.ts'),
    procedures: join(root, 'src/procedures.ts'),
    action: find('authed-action.ts'),
    runtime: find('get-auth.ts'),
    auth: join(root, 'src/auth.ts'),
  })
}

/** Checks the clean app with some files replaced. */
const checkWith = (changed: Readonly<Record<string, string | null>>) =>
  checkApp(writeApp(directory, { ...CLEAN_APP, ...changed }))

const toGate = (...files: string[]) => [...files, 'src/get-auth.ts']

test('accepts an app that follows the rule, and lists its procedure modules', async () => {
  expect(await checkWith({})).toEqual({ modules: 12, procedureModules: 4, violations: [] })
})

describe('a violation is reported with its imports', () => {
  const helper = {
    'src/helper.ts': `import { getAuth } from './get-auth.ts'\nexport const help = getAuth`,
  }
  const notes = (imports: string) => ({
    'src/routers/notes.ts': `${imports}\n${CLEAN_APP['src/routers/notes.ts']}`,
  })
  const shared = (imports: string) => ({
    'src/procedures.ts': `${imports}\n${CLEAN_APP['src/procedures.ts']}`,
  })

  test.each([
    {
      way: 'the shared module imports getAuth',
      files: shared(`import { getAuth } from './get-auth.ts'\nexport { getAuth }`),
      violations: [['shared-module', toGate('src/procedures.ts')]],
    },
    {
      way: 'the shared module imports a helper',
      files: { ...helper, ...shared(`import { help } from './helper.ts'\nexport const used = help`) },
      violations: [['shared-module', toGate('src/procedures.ts', 'src/helper.ts')]],
    },
    {
      way: 'a procedure module imports a helper',
      files: { ...helper, ...notes(`import { help } from '../helper.ts'\nexport const used = help`) },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/helper.ts')]],
    },
    {
      way: 'a procedure module imports a helper for its side effects',
      files: { ...helper, ...notes(`import '../helper.ts'`) },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/helper.ts')]],
    },
    {
      way: 'other modules re-export getAuth',
      files: {
        'src/lib/one.ts': `export { getAuth as authOf } from './two.ts'`,
        'src/lib/two.ts': `export * from '../get-auth.ts'`,
        ...notes(`import { authOf } from '../lib/one.ts'\nexport const used = authOf`),
      },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/lib/one.ts', 'src/lib/two.ts')]],
    },
    {
      way: 'a procedure module imports a helper through an alias',
      files: {
        ...helper,
        ...notes(`import { help } from '~/helper'\nexport const used = help`),
        'tsconfig.json': '{ "compilerOptions": { "paths": { "~/*": ["./src/*"] } } }',
      },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/helper.ts')]],
    },
    {
      way: 'a second builder module imports getAuth',
      files: {
        'src/organization-procedure.ts': `
          import { getAuth } from './get-auth.ts'
          import { protectedProcedure } from './procedures.ts'
          export const organizationProcedure = protectedProcedure.use(({ ctx, next }) => next({ ctx: getAuth(ctx) }))`,
        'src/routers/notes.ts': `
          import { organizationProcedure } from '../organization-procedure.ts'
          export const notes = { list: organizationProcedure.query(() => []) }`,
      },
      violations: [['other-builder', toGate('src/organization-procedure.ts')]],
    },
    {
      way: 'a procedure module imports the definition',
      files: notes(`import definition from '../auth.ts'\nexport const { plugins } = definition`),
      violations: [['procedure-module', ['src/routers/notes.ts', 'src/auth.ts']]],
    },
    {
      way: 'the action builder imports the definition next to getAuth',
      files: {
        'src/authed-action.ts': `import './plugins-of.ts'\n${CLEAN_APP['src/authed-action.ts']}`,
        'src/plugins-of.ts': `import definition from './auth.ts'\nexport const { plugins } = definition`,
      },
      violations: [['definition-import', ['src/authed-action.ts', 'src/plugins-of.ts', 'src/auth.ts']]],
    },
    {
      way: 'the session module imports the definition',
      files: {
        'src/session.ts': `import definition from './auth.ts'\nexport const sessionMiddleware = definition`,
      },
      violations: [['shared-module', ['src/procedures.ts', 'src/session.ts', 'src/auth.ts']]],
    },
  ])('$way', async ({ files, violations }) => {
    const report = await checkWith(files)
    expect(report.violations.map(({ rule, chain }) => [rule, chain])).toEqual(violations)
    for (const { fix } of report.violations) expect(fix).toMatch(/^[^.]+\. ?/)
  })
})

describe('accepts', () => {
  const notes = (imports: string) => ({
    'src/routers/notes.ts': `${imports}\n${CLEAN_APP['src/routers/notes.ts']}`,
  })

  test.each([
    {
      what: 'types of the definition and of getAuth',
      files: {
        ...notes(`
          import type definition from '../auth.ts'
          import { type Auth } from '../get-auth.ts'
          export type { Auth as Other } from '../get-auth.ts'
          export type Both = [typeof definition, Auth]`),
      },
    },
    {
      what: 'a helper of a module that imports the definition anyway',
      files: {
        'src/helper.ts': `import { getAuth } from './get-auth.ts'\nexport const help = getAuth`,
        'src/routers/report.ts': `import { help } from '../helper.ts'\nexport const used = help\n${CLEAN_APP['src/routers/report.ts']}`,
      },
    },
    {
      what: 'server modules that import the definition and call a router',
      files: {
        'src/app.ts': `import './other.ts'\n${CLEAN_APP['src/app.ts']}`,
        'src/other.ts': `import './auth.ts'`,
      },
    },
    {
      what: 'a server in one module that also has procedures',
      files: {
        'src/server.ts': `import './auth.ts'\nimport { publicProcedure } from './procedures.ts'\npublicProcedure.query(() => 1)`,
      },
    },
    {
      what: 'a definition that uses a builder and, through a helper, getAuth',
      files: {
        'src/helper.ts': `import { getAuth } from './get-auth.ts'\nexport const help = getAuth`,
        'src/auth.ts': `import { help } from './helper.ts'\nimport { publicProcedure } from './procedures.ts'\nexport default [help, publicProcedure]`,
      },
    },
    {
      what: 'a module that queries a database, next to the definition',
      files: {
        'src/app.ts': `import './report-job.ts'\n${CLEAN_APP['src/app.ts']}`,
        'src/report-job.ts': `import './auth.ts'\nexport const run = (pool) => pool.query('select 1')`,
      },
    },
    {
      what: 'an app without an action builder',
      files: { 'src/authed-action.ts': null, 'src/routers/report.ts': `export const report = {}` },
    },
  ])('$what', async ({ files }) => {
    expect((await checkWith(files)).violations).toEqual([])
  })
})

test('checks the modules that the rule names in an app without a server', async () => {
  const shared = `import './get-auth.ts'\n${CLEAN_APP['src/procedures.ts']}`
  expect(await checkWith({ 'src/server.ts': null, 'src/procedures.ts': shared })).toMatchObject({
    procedureModules: 0,
    violations: [{ rule: 'shared-module' }],
  })
})

describe('the modules of packages', () => {
  test('that are linked are followed into the app', async () => {
    const root = writeApp(directory, {
      ...CLEAN_APP,
      'src/routers/notes.ts': `import 'linked'\n${CLEAN_APP['src/routers/notes.ts']}`,
    })
    const linked = writeApp(directory, {
      'package.json': '{ "exports": { "import": "./index.ts" } }',
      'index.ts': `import '${root}/src/get-auth.ts'`,
    })
    symlinkSync(linked, join(root, 'node_modules/linked'))
    const { violations } = await checkApp(root)
    expect(violations).toMatchObject([
      {
        rule: 'procedure-module',
        chain: ['src/routers/notes.ts', expect.stringContaining('index.ts'), 'src/get-auth.ts'],
      },
    ])
  })

  test("ignores packages that aren't installed", async () => {
    const { violations } = await checkWith({
      'src/server.ts': `import 'not-installed'\nimport './app.ts'`,
    })
    expect(violations).toEqual([])
  })

  test.each(['~/get-auth', '@/get-auth', '#get-auth'])('rejects an undeclared alias: %s', async (alias) => {
    const notes = `import { getAuth } from '${alias}'\n${CLEAN_APP['src/routers/notes.ts']}\nexport const used = getAuth`
    await expect(checkWith({ 'src/routers/notes.ts': notes })).rejects.toThrow(`imports ${alias}`)
  })

  test('rejects a missing file of the app', async () => {
    await expect(checkWith({ 'src/server.ts': `import './missing.ts'` })).rejects.toThrow('./missing.ts')
  })
})
