import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Writes the files of an app into a new folder inside another, and returns its path. A null omits a file. */
export function writeApp(parent: string, files: Readonly<Record<string, string | null>>): string {
  const root = join(parent, crypto.randomUUID())
  mkdirSync(root, { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    if (text === null) continue
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

/** An app that follows the auth definition rule, with stubs of the real packages. */
export const CLEAN_APP: Readonly<Record<string, string>> = {
  'src/auth.ts': `
    import { defineAuth } from '@sallyport/core/auth'
    import { plugin } from './plugin.ts'
    export default defineAuth({ plugins: [plugin] })`,
  'src/plugin.ts': `export const plugin = { text: '${crypto.randomUUID().repeat(50)}' }`,
  'src/get-auth.ts': `
    import { createAuthRuntime } from '@sallyport/trpc/action'
    import authDefinition from './auth.ts'
    export const { getAuth } = createAuthRuntime(() => authDefinition)
    export type Auth = ReturnType<typeof getAuth>`,
  'src/session.ts': `
    import { bindSession } from '@sallyport/trpc'
    import type authDefinition from './auth.ts'
    export const { getSession, sessionMiddleware } = bindSession<typeof authDefinition>()`,
  'src/procedures.ts': `
    import { initTRPC } from '@trpc/server'
    import type { Auth } from './get-auth.ts'
    import { sessionMiddleware } from './session.ts'
    const t = initTRPC.context<{ auth: Auth }>().create()
    export const { router } = t
    export const createCaller = t.createCallerFactory
    export const publicProcedure = t.procedure
    export const protectedProcedure = publicProcedure.use(sessionMiddleware)`,
  'src/authed-action.ts': `
    import { createAuthedAction } from '@sallyport/trpc/action'
    import { getAuth } from './get-auth.ts'
    import { publicProcedure } from './procedures.ts'
    export const authedAction = createAuthedAction(publicProcedure, getAuth, {})`,
  'src/routers/notes.ts': `
    import { protectedProcedure, router } from '../procedures.ts'
    export const notes = router({ list: protectedProcedure.query(() => []) })`,
  'src/routers/organizations.ts': `
    import { getAuth } from '../get-auth.ts'
    import { protectedProcedure, router } from '../procedures.ts'
    export const organizations = router({ add: protectedProcedure.mutation(({ ctx }) => getAuth(ctx).api) })`,
  'src/routers/report.ts': `
    import { authedAction } from '../authed-action.ts'
    import { router } from '../procedures.ts'
    export const report = router({ write: authedAction.mutation(() => 1) })`,
  'src/routers/app.ts': `
    import { publicProcedure, router } from '../procedures.ts'
    import { notes } from './notes.ts'
    import { organizations } from './organizations.ts'
    import { report } from './report.ts'
    export const appRouter = router({ health: publicProcedure.query(() => 1), notes, organizations, report })`,
  'src/app.ts': `
    import authDefinition from './auth.ts'
    import { createCaller, router } from './procedures.ts'
    import { appRouter } from './routers/app.ts'
    export const app = [createCaller(appRouter), router({}), authDefinition]`,
  'src/server.ts': `
    import { app } from './app.ts'
    console.log(app)`,
  ...fakePackage('@trpc/server', {
    '.': 'export const initTRPC = { context: () => ({ create: () => ({}) }) }',
  }),
  ...fakePackage('@sallyport/core', { './auth': 'export const defineAuth = (options) => options' }),
  ...fakePackage('@sallyport/trpc', {
    '.': 'export const bindSession = () => ({})',
    './runtime': 'export const createAuthRuntime = () => ({})',
    './action': 'export const createAuthedAction = () => ({})',
  }),
}

/** Returns the files of a published package with these entries. */
function fakePackage(name: string, entries: Readonly<Record<string, string>>): Record<string, string> {
  const files: [string, string, string][] = Object.entries(entries).map(([entry, code]) => [
    entry,
    `./dist/${entry === '.' ? 'index' : entry.slice(2)}.js`,
    code,
  ])
  const exports = Object.fromEntries(files.map(([entry, path]) => [entry, { import: path }]))
  return {
    [`node_modules/${name}/package.json`]: JSON.stringify({
      name,
      type: 'module',
      sideEffects: false,
      exports,
    }),
    ...Object.fromEntries(files.map(([, path, code]) => [`node_modules/${name}/${path.slice(2)}`, code])),
  }
}
