import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findAppFiles } from '../../../src/cli/doctor/app-files.ts'
import { examine } from '../../../src/cli/doctor/examine.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { CLEAN_APP, fakePackage, writeApp } from '../../support/write-app.ts'

const directory = temporaryDirectory()

const OPTIONS = {
  entry: 'src/server.ts',
  procedures: 'src/procedures.ts',
  action: 'src/authed-action.ts',
  auth: 'src/auth.ts',
}

/** Examines an app of these files, which has the usual names. */
function examineApp(files: Readonly<Record<string, string | null>>) {
  return examine(findAppFiles(OPTIONS, { root: writeApp(directory, files), named: new Set() }))
}

/** The report on the clean app with some of its files changed. */
const examineWith = (changed: Readonly<Record<string, string | null>>) =>
  examineApp({ ...CLEAN_APP, ...changed })

const GATE = ['src/generated/auth.ts', 'src/auth.ts']
const toGate = (...files: string[]) => [...files, 'src/generated/auth.ts']

test('an app that keeps to the rule: who carries the definition, and through which imports', async () => {
  const { modules, violations } = await examineApp(CLEAN_APP)
  expect(violations).toEqual([])
  expect(modules.map(({ role, file, chain }) => [role, file, chain])).toEqual([
    ['shared', 'src/procedures.ts', []],
    ['session', 'src/generated/session.ts', []],
    ['action', 'src/authed-action.ts', ['src/authed-action.ts', ...GATE]],
    ['procedures', 'src/routers/app.ts', ['src/routers/app.ts', 'src/routers/organizations.ts', ...GATE]],
    ['procedures', 'src/routers/notes.ts', []],
    ['procedures', 'src/routers/organizations.ts', ['src/routers/organizations.ts', ...GATE]],
    ['procedures', 'src/routers/report.ts', ['src/routers/report.ts', 'src/authed-action.ts', ...GATE]],
  ])
  for (const { carriesDefinition, chain } of modules) expect(carriesDefinition).toBe(chain.length > 0)
})

describe('a way around the rule is told with its imports', () => {
  const helper = {
    'src/helper.ts': `import { getAuth } from './generated/auth.ts'\nexport const help = getAuth`,
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
      files: shared(`import { getAuth } from './generated/auth.ts'\nexport { getAuth }`),
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
        'src/helper.ts': `export const help = async () => (await import('./generated/auth.ts')).getAuth`,
        ...notes(`import { help } from '../helper.ts'\nexport const used = help`),
      },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/helper.ts')]],
    },
    {
      way: 'getAuth is passed on by other modules',
      files: {
        'src/lib/one.ts': `export { getAuth as authOf } from './two.ts'`,
        'src/lib/two.ts': `export * from '../generated/auth.ts'`,
        ...notes(`import { authOf } from '../lib/one.ts'\nexport const used = authOf`),
      },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/lib/one.ts', 'src/lib/two.ts')]],
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
          import { getAuth } from './generated/auth.ts'
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
      way: 'the generated session imports the definition',
      files: {
        'src/generated/session.ts': `import definition from '../auth.ts'\nexport const sessionMiddleware = definition`,
      },
      // The shared module imports it, so both are told.
      violations: [
        ['session-file', ['src/generated/session.ts', 'src/auth.ts']],
        ['shared-module', ['src/procedures.ts', 'src/generated/session.ts', 'src/auth.ts']],
      ],
    },
    {
      way: 'generated stubs do not carry the definition, and who reaches them would',
      files: {
        ...helper,
        ...notes(`import { help } from '../helper.ts'\nexport const used = help`),
        'src/generated/auth.ts': `export const getAuth = () => { throw new Error('no definition') }`,
      },
      violations: [['procedure-module', toGate('src/routers/notes.ts', 'src/helper.ts')]],
    },
  ])('$way', async ({ files, violations }) => {
    const report = await examineWith(files)
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
          import { type Auth } from '../generated/auth.ts'
          export type { Auth as Other } from '../generated/auth.ts'
          export type Both = [typeof definition, Auth]`),
      },
    },
    {
      what: 'a helper of a module that carries the definition anyway',
      files: {
        'src/helper.ts': `import { getAuth } from './generated/auth.ts'\nexport const help = getAuth`,
        'src/routers/report.ts': `import { help } from '../helper.ts'\nexport const used = help\n${CLEAN_APP['src/routers/report.ts']}`,
      },
    },
    {
      what: 'a definition and generated files that import each other',
      files: {
        'src/auth.ts': `
          import { getAuth } from './generated/auth.ts'
          import { getSession } from './generated/session.ts'
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
        'src/helper.ts': `import { getAuth } from './generated/auth.ts'\nexport const help = getAuth`,
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
      what: 'an app without an action builder and without a definition',
      files: {
        'src/auth.ts': null,
        'src/app.ts': `export { appRouter as app } from './routers/app.ts'`,
        'src/authed-action.ts': null,
        'src/generated/auth.ts': `export const getAuth = () => { throw new Error('no definition') }`,
        'src/routers/report.ts': `export const report = {}`,
      },
    },
  ])('$what', async ({ files }) => {
    expect((await examineWith(files)).violations).toEqual([])
  })
})

test('an app without a server: the modules that the rule names are looked at', async () => {
  const { modules } = await examineWith({ 'src/server.ts': null })
  expect(modules.map(({ file }) => file)).toEqual([
    'src/procedures.ts',
    'src/generated/session.ts',
    'src/authed-action.ts',
  ])
})

test('generated stubs are no auth definition', async () => {
  const stub = `export const getAuth = () => { throw new Error('no definition') }`
  const { modules } = await examineWith({ 'src/generated/auth.ts': stub })
  for (const { carriesDefinition } of modules) expect(carriesDefinition).toBe(false)
})

describe('a procedure module is one that imports a builder', () => {
  /** The roles of the modules, by their names, of an app where one imports `x` of `./b.ts`. */
  async function rolesWith(files: Record<string, string>): Promise<Record<string, string>> {
    const { modules } = await examineWith({
      'src/server.ts': `import './user.ts'`,
      'src/user.ts': `import { x } from './b.ts'\nconsole.log(x)`,
      'src/a.ts': `
        import { initTRPC } from '@trpc/server'
        const t = initTRPC.create()
        export const root = t
        export const mutable = t.router
        export const procedure = t.procedure`,
      ...files,
    })
    return Object.fromEntries(modules.map(({ file, role }) => [file.slice('src/'.length), role]))
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
  ])('%j', async (code) => {
    const roles = await rolesWith({ 'src/b.ts': code, 'src/c.ts': `export { procedure as x } from './a.ts'` })
    expect(roles).toMatchObject({ 'b.ts': 'builder', 'user.ts': 'procedures' })
  })

  test.each([
    [
      'procedures',
      `import { procedure } from './a.ts'\nexport const x = { list: procedure.query(() => []) }`,
    ],
    [
      'procedures',
      `import { procedure } from './a.ts'\nexport const x = procedure.use(() => {}).mutation(() => [])`,
    ],
    ['procedures', `import * as a from './a.ts'\nexport const x = a.procedure.query(() => [])`],
    [undefined, `import { mutable } from './a.ts'\nexport const x = mutable({})`],
    [undefined, `import { use } from './c.ts'\nexport const x = use.use(() => {})`],
    [undefined, `import { procedure } from './a.ts'\nexport const x = 1 as typeof procedure`],
    [
      undefined,
      `import { type procedure, mutable } from './a.ts'\nexport const x = mutable as typeof procedure`,
    ],
    [
      undefined,
      `import type { procedure } from './a.ts'\nimport { mutable } from './a.ts'\nexport const x = mutable as typeof procedure`,
    ],
    [undefined, `export { type procedure as x, mutable } from './a.ts'`],
    [undefined, `export type { procedure as x } from './a.ts'\nexport { mutable } from './a.ts'`],
    [undefined, `export type * from './a.ts'\nexport { mutable as x } from './a.ts'`],
    [undefined, `export const x = new Map()`],
    [undefined, `export * from './circle.ts'`],
  ])('and not one that imports from a module without: %s, %j', async (role, code) => {
    const roles = await rolesWith({
      'src/b.ts': code,
      'src/c.ts': `export const use = new Set()`,
      'src/circle.ts': `export * from './b.ts'`,
    })
    expect(roles['b.ts']).toBe(role)
    expect(roles).not.toHaveProperty(['user.ts'])
  })

  test('whatever the named builder modules export is a builder, but for the routers', async () => {
    const roles = await rolesWith({
      'src/b.ts': `export { x } from './procedures.ts'`,
      'src/other.ts': `import { router } from './procedures.ts'\nconsole.log(router({}))`,
      'src/server.ts': `import './user.ts'\nimport './other.ts'`,
      'src/authed-action.ts': `export const authedAction = {}`,
      'src/procedures.ts': `export const x = globalThis.builders.x\nexport const router = globalThis.t.router`,
    })
    expect(roles).toMatchObject({ 'b.ts': 'builder', 'user.ts': 'procedures' })
    expect(roles).not.toHaveProperty(['other.ts'])
  })
})

describe('the modules of packages', () => {
  test('are no modules of the app: neither installed ones nor those of the workspace', async () => {
    const code = `export const kit = { procedure: 1 }\nexport const builder = kit.procedure`
    const workspace = writeApp(directory, { 'package.json': '{ "exports": "./index.ts" }', 'index.ts': code })
    const root = writeApp(directory, {
      ...CLEAN_APP,
      ...fakePackage('installed', { '.': code }),
      'src/server.ts': `import { builder } from 'installed'\nimport { builder as other } from 'linked'\nconsole.log(builder, other)`,
    })
    symlinkSync(workspace, join(root, 'node_modules/linked'))
    const { modules } = await examine(findAppFiles(OPTIONS, { root, named: new Set() }))
    expect(modules.map(({ file }) => file)).toEqual([
      'src/procedures.ts',
      'src/generated/session.ts',
      'src/authed-action.ts',
    ])
  })

  test('that are linked are followed: what they import of the app counts', async () => {
    const root = writeApp(directory, {
      ...CLEAN_APP,
      'src/routers/notes.ts': `import 'linked'\n${CLEAN_APP['src/routers/notes.ts']}`,
    })
    const linked = writeApp(directory, {
      'package.json': '{ "exports": { "import": "./index.ts" } }',
      'index.ts': `import '${root}/src/generated/auth.ts'`,
    })
    symlinkSync(linked, join(root, 'node_modules/linked'))
    const { violations } = await examine(findAppFiles(OPTIONS, { root, named: new Set() }))
    expect(violations).toMatchObject([
      {
        rule: 'procedure-module',
        chain: ['src/routers/notes.ts', expect.stringContaining('index.ts'), 'src/generated/auth.ts'],
      },
    ])
  })

  test('that are not installed do not stop it', async () => {
    const { violations } = await examineWith({
      'src/server.ts': `import 'not-installed'\nimport './app.ts'`,
    })
    expect(violations).toEqual([])
  })

  test('a file of the app that is not there does', async () => {
    await expect(examineWith({ 'src/server.ts': `import './missing.ts'` })).rejects.toThrow('./missing.ts')
  })
})

test('the same app is told of in the same words, to the byte', async () => {
  const [one, two] = await Promise.all([examineApp(CLEAN_APP), examineApp(CLEAN_APP)])
  expect(two).toEqual(one)
})
