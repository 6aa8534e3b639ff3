import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigurationError } from '../../protocol/errors.ts'
import { readIfExists } from './changes.ts'
import type { DetectedApp, Framework } from './detect.ts'
import { planMount } from './mount/plan-mount.ts'
import { AUTH_SERVER, LAZY_FILES } from './mount/templates.ts'
import { inFolder, type Steps } from './steps.ts'
import { FILES, TSCONFIG } from './templates.ts'

const PACKAGES = ['kysely', 'better-sqlite3', '@trpc/server']

/** Guides for apps whose files `init` doesn't write. */
const GUIDES: Partial<Record<Framework, string>> = {
  'Next.js': 'docs/nextjs.md',
  'TanStack Start': 'docs/tanstack-start.md',
  'React Router': 'docs/react-router.md',
  SvelteKit: 'docs/other-frameworks.md#sveltekit',
  Nuxt: 'docs/other-frameworks.md#nuxt',
  Vite: 'docs/react.md#serve-the-page',
}

const MOUNTING: Partial<Record<Framework, string>> = {
  Hono: 'docs/server.md#hono',
  Express: 'docs/server.md#express',
  Fastify: 'docs/server.md#fastify',
}

/** Plans a new app, or one with its own server. For a framework with a guide, names the guide. */
export function planServer(app: DetectedApp): Steps {
  const guide = guideOf(app)
  if (guide !== undefined)
    return {
      files: {},
      edits: [],
      byHand: [`For this ${app.framework} app, "sallyport init" writes only keys. Follow ${guide}.`],
      packages: [],
      command: 'npx sallyport keys list --env .env',
    }
  if (app.isNew) return planNewApp(app)
  // Node can't import the files. A bundler can.
  if (JSON.parse(app.manifest).type === 'commonjs')
    throw new ConfigurationError(
      'Nothing written: package.json has "type": "commonjs", and the files are ES modules. Set "module", and run this again.',
    )
  const mounted = planMount(app)
  if (mounted !== null) return { ...mounted, byHand: [...mounted.byHand, ...notesOn(app)] }
  const context = hasContext(app.folder)
    ? { 'auth-server.ts': AUTH_SERVER }
    : { 'context.ts': FILES['context.ts'] }
  const auth = app.folder === 'src' ? '' : ' --auth auth.ts'
  return {
    files: inFolder(app.folder, { ...LAZY_FILES, ...context }),
    edits: [],
    byHand: byHand(app),
    packages: PACKAGES,
    command: `npx sallyport doctor configuration keys --env .env${auth}`,
  }
}

/** A single-page app of Vite may have the tRPC server in the same package. */
function guideOf({ framework, packages, folder }: DetectedApp): string | undefined {
  const hasServer = framework === 'Vite' && packages.has('@trpc/server')
  const isPages = framework === 'Next.js' && !existsSync(join(folder, 'app'))
  if (isPages && existsSync(join(folder, 'pages'))) return 'docs/pages-router.md'
  return framework === null || hasServer ? undefined : GUIDES[framework]
}

function planNewApp({ folder }: DetectedApp): Steps {
  const tsconfig = readIfExists('tsconfig.json') === null ? { 'tsconfig.json': TSCONFIG } : {}
  return {
    files: { ...inFolder(folder, FILES), ...tsconfig },
    edits: [],
    byHand: [],
    packages: [...PACKAGES, '@trpc/client', 'hono', '@hono/node-server', 'typescript', '@types/node'],
    command: 'node --env-file=.env src/server.ts',
  }
}

/** Returns whether the app has a separate context. */
function hasContext(folder: string): boolean {
  const context = readIfExists(join(folder, 'context.ts'))
  return context !== null && !context.includes('openSqlite(')
}

function byHand(app: DetectedApp): string[] {
  const { framework, folder } = app
  const mounting = (framework && MOUNTING[framework]) ?? 'docs/server.md'
  const tsconfig = readIfExists('tsconfig.json')
  const context = hasContext(folder)
    ? `spread the result of authContext in ${join(folder, 'auth-server.ts')} into the context`
    : `pass httpContext of ${join(folder, 'context.ts')} to tRPC`
  return [
    ...(framework === 'Vite' ? ['Create the client of the page: docs/react.md#set-up.'] : []),
    `Serve /api/auth, and ${context}: ${mounting}.`,
    'Guard the procedures: docs/protect.md#kinds-of-procedures.',
    ...(tsconfig?.includes('ImportingTsExtensions') === false
      ? ['Set "allowImportingTsExtensions" in tsconfig.json: docs/install.md#typescript.']
      : []),
    ...notesOn(app),
  ]
}

/** What to know in every app with a server. */
function notesOn({ databaseTool, manifest }: DetectedApp): string[] {
  return [
    ...(JSON.parse(manifest).type === 'module'
      ? []
      : ['Set "type": "module" in package.json: the files are ES modules.']),
    ...(databaseTool === null || databaseTool === 'Kysely'
      ? []
      : [
          `Users are in a SQLite file. To use the database of ${databaseTool} instead, follow docs/databases.md#your-apps-client.`,
        ]),
  ]
}
