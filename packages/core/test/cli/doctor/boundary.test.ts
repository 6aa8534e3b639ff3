import { existsSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkBoundary } from '../../../src/cli/doctor/boundary.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { CLEAN_APP, writeApp } from '../../support/write-app.ts'

const directory = temporaryDirectory()

/** Checks an app in a folder, which has the usual names. */
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

/** Checks the clean app with some of its files changed. */
const checkWith = (changed: Readonly<Record<string, string | null>>) =>
  checkApp(writeApp(directory, { ...CLEAN_APP, ...changed }))

const toGate = (...files: string[]) => [...files, 'src/get-auth.ts']

test('an app that keeps to the rule, with the modules that make procedures', async () => {
  expect(await checkWith({})).toEqual({ modules: 12, procedureModules: 4, violations: [] })
})

describe('a way around the rule is told with its imports', () => {
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
      way: 'the shared module imports the definition',
      files: shared(`import definition from './auth.ts'\nexport const { plugins } = definition`),
      violations: [['shared-module', ['src/procedures.ts', 'src/auth.ts']]],
    },
    {
      way: 'the shared module imports the action builder',
      files: shared(`export { authedAction } from './authed-action.ts'`),
      violations: [['shared-module', toGate('src/procedures.ts', 'src/authed-action.ts')]],
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
      way: 'a procedure module imports a helper for its effects',
      files: { ...helper, ...notes(`import '../helper.ts'`) },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/helper.ts')]],
    },
    {
      way: 'a procedure module imports a helper when it is called',
      files: { ...helper, ...notes(`export const load = () => import('../helper.ts')`) },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/helper.ts')]],
    },
    {
      way: 'a helper imports getAuth when it is called',
      files: {
        'src/helper.ts': `export const help = async () => (await import('./get-auth.ts')).getAuth`,
        ...notes(`import { help } from '../helper.ts'\nexport const used = help`),
      },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/helper.ts')]],
    },
    {
      way: 'getAuth is passed on by other modules',
      files: {
        'src/lib/one.ts': `export { getAuth as authOf } from './two.ts'`,
        'src/lib/two.ts': `export * from '../get-auth.ts'`,
        ...notes(`import { authOf } from '../lib/one.ts'\nexport const used = authOf`),
      },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/lib/one.ts', 'src/lib/two.ts')]],
    },
    {
      way: 'a procedure module imports a helper by an alias',
      files: {
        ...helper,
        ...notes(`import { help } from '~/helper'\nexport const used = help`),
        'tsconfig.json': '{ "compilerOptions": { "paths": { "~/*": ["./src/*"] } } }',
      },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/helper.ts')]],
    },
    {
      way: 'the action builder is passed on by another module, which is a builder module too then',
      files: {
        'src/builders.ts': `export * from './authed-action.ts'\nexport { protectedProcedure } from './procedures.ts'`,
        'src/routers/notes.ts': `
          import { protectedProcedure } from '../builders.ts'
          export const notes = { list: protectedProcedure.query(() => []) }`,
      },
      violations: [['other-builder', toGate('src/builders.ts', 'src/authed-action.ts')]],
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
      way: 'a second builder module reaches getAuth through a helper',
      files: {
        ...helper,
        'src/organization-procedure.ts': `
          import { help } from './helper.ts'
          import { protectedProcedure } from './procedures.ts'
          export const organizationProcedure = (role: string) => protectedProcedure.use(() => help(role))`,
        'src/routers/notes.ts': `
          import { organizationProcedure } from '../organization-procedure.ts'
          export const notes = { list: organizationProcedure('owner').query(() => []) }`,
      },
      violations: [['other-builder', toGate('src/organization-procedure.ts', 'src/helper.ts')]],
    },
    {
      way: 'a procedure module imports the definition',
      files: notes(`import definition from '../auth.ts'\nexport const { plugins } = definition`),
      violations: [['procedure-module', ['src/routers/notes.ts', 'src/auth.ts']]],
    },
    {
      way: 'a procedure module that may carry the definition imports it around getAuth',
      files: {
        'src/routers/report.ts': `import definition from '../auth.ts'\nexport const { plugins } = definition\n${CLEAN_APP['src/routers/report.ts']}`,
      },
      violations: [['definition-import', ['src/routers/report.ts', 'src/auth.ts']]],
    },
    {
      way: 'the action builder imports the definition around getAuth',
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

describe('within the rule are', () => {
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
      what: 'a helper of a module that carries the definition anyway',
      files: {
        'src/helper.ts': `import { getAuth } from './get-auth.ts'\nexport const help = getAuth`,
        'src/routers/report.ts': `import { help } from '../helper.ts'\nexport const used = help\n${CLEAN_APP['src/routers/report.ts']}`,
      },
    },
    {
      what: 'a definition and generated files that import each other',
      files: {
        'src/auth.ts': `
          import { getAuth } from './get-auth.ts'
          import { getSession } from './session.ts'
          export default { plugins: [], later: (ctx) => [getAuth(ctx), getSession(ctx)] }`,
      },
    },
    {
      what: 'modules of the server that import the definition and call a router',
      files: {
        'src/app.ts': `import './other.ts'\n${CLEAN_APP['src/app.ts']}`,
        'src/other.ts': `import './auth.ts'`,
      },
    },
    {
      what: 'a server in one module, with procedures of its own',
      files: {
        'src/server.ts': `import './auth.ts'\nimport { publicProcedure } from './procedures.ts'\npublicProcedure.query(() => 1)`,
      },
    },
    {
      what: 'a definition that uses a builder, and through a helper what it is bound to',
      files: {
        'src/helper.ts': `import { getAuth } from './get-auth.ts'\nexport const help = getAuth`,
        'src/auth.ts': `import { help } from './helper.ts'\nimport { publicProcedure } from './procedures.ts'\nexport default [help, publicProcedure]`,
      },
    },
    {
      what: 'a type that is passed on without saying so',
      files: {
        'src/shapes.ts': `export type Note = { text: string }`,
        ...notes(`export { Note } from '../shapes.ts'`),
      },
    },
    {
      what: 'a module that queries a database, beside the definition',
      files: {
        'src/app.ts': `import './report-job.ts'\n${CLEAN_APP['src/app.ts']}`,
        'src/report-job.ts': `import './auth.ts'\nexport const run = (pool) => pool.query('select 1')`,
      },
    },
    {
      what: 'routers that are put together by another module',
      files: {
        'src/routers/app.ts': `import { publicProcedure, router } from '../procedures.ts'
          import { rest } from './rest.ts'
          export const appRouter = router({ health: publicProcedure.query(() => 1), rest })`,
        'src/routers/rest.ts': `import { router } from '../procedures.ts'
          import { organizations } from './organizations.ts'
          export const rest = router({ organizations })`,
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

test('an app without a server: the modules that the rule names are checked', async () => {
  const shared = `import './get-auth.ts'\n${CLEAN_APP['src/procedures.ts']}`
  expect(await checkWith({ 'src/server.ts': null, 'src/procedures.ts': shared })).toMatchObject({
    procedureModules: 0,
    violations: [{ rule: 'shared-module' }],
  })
})

describe('a module with a builder must not import getAuth', () => {
  /** An app where a module makes procedures with `x` of `./b.ts`, which imports `getAuth`. */
  const violationsWith = async (code: string) => {
    const { violations } = await checkWith({
      'src/server.ts': `import './user.ts'`,
      'src/user.ts': `import { x } from './b.ts'\nexport const one = x.query(() => 1)`,
      'src/a.ts': `
        import { initTRPC } from '@trpc/server'
        const t = initTRPC.create()
        export const root = t
        export const procedure = t.procedure`,
      'src/c.ts': `export { procedure as x } from './a.ts'`,
      'src/b.ts': `import './get-auth.ts'\n${code}`,
    })
    return violations.map(({ rule, chain }) => [rule, chain])
  }

  test.each([
    `import { procedure } from './a.ts'\nexport const x = procedure.use(() => {})`,
    `import { procedure } from './a.ts'\nexport const x = procedure.input({}).use(() => {}).meta({})`,
    `import { procedure } from './a.ts'\nconst y = procedure.use(() => {})\nexport { y as x }`,
    `import { procedure as y } from './a.ts'\nexport const x = y`,
    `import * as a from './a.ts'\nexport const x = a.procedure.use(() => {})`,
    `import { root } from './a.ts'\nexport const { procedure: x } = root`,
    `import { root } from './a.ts'\nexport const x = root.procedure`,
    `import { procedure } from './a.ts'\nexport const x = (role: string) => procedure.use(() => role)`,
    `import { procedure } from './a.ts'\nexport function x(role: string) {\n  return procedure.use(() => role)\n}`,
    `import { procedure } from './a.ts'\nconst y = (role: string) => procedure.use(() => role)\nexport const x = y('owner')`,
    `import { procedure } from './a.ts'\nexport const x = procedure.use(() => {}) as unknown`,
    `import { procedure } from './a.ts'\nexport const x = procedure satisfies object`,
    `export { procedure as x } from './a.ts'`,
    `export * from './c.ts'`,
    `import { createAuthedAction } from '@sallyport/trpc/action'\nexport const x = createAuthedAction({})`,
    `import { initTRPC } from '@trpc/server'\nexport const x = initTRPC.create().procedure`,
  ])('%j', async (code) => {
    expect(await violationsWith(code)).toEqual([['other-builder', toGate('src/b.ts')]])
  })

  test.each([
    `export const x = new Map()`,
    `import type { procedure } from './a.ts'\nexport const x = {} as typeof procedure`,
    `export type * from './a.ts'\nexport const x = {}`,
  ])('and this is not one: %j', async (code) => {
    expect(await violationsWith(code)).toEqual([])
  })
})

describe('the modules of packages', () => {
  test('that are linked are followed: what they import of the app counts', async () => {
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

  test('that are not installed do not stop it', async () => {
    const { violations } = await checkWith({
      'src/server.ts': `import 'not-installed'\nimport './app.ts'`,
    })
    expect(violations).toEqual([])
  })

  test.each(['~/get-auth', '@/get-auth', '#get-auth'])(
    'an alias that is not declared does: %s',
    async (alias) => {
      const notes = `import { getAuth } from '${alias}'\n${CLEAN_APP['src/routers/notes.ts']}\nexport const used = getAuth`
      await expect(checkWith({ 'src/routers/notes.ts': notes })).rejects.toThrow(`imports ${alias}`)
    },
  )

  test('a file of the app that is not there does', async () => {
    await expect(checkWith({ 'src/server.ts': `import './missing.ts'` })).rejects.toThrow('./missing.ts')
  })
})

test('the same app gives the same report', async () => {
  const app = { 'src/procedures.ts': `import './get-auth.ts'\n${CLEAN_APP['src/procedures.ts']}` }
  expect(await checkWith(app)).toEqual(await checkWith(app))
})
