import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { ConfigurationError } from '../../protocol/errors.ts'
import { type Change, readIfExists } from './changes.ts'
import type { DetectedApp, Framework } from './detect.ts'
import { isIgnored } from './git.ts'
import { planNext } from './next/plan-next.ts'
import { planStart } from './start/plan-start.ts'
import { newFile, type Steps } from './steps.ts'
import { FILES, ownDatabase, TSCONFIG } from './templates.ts'

/** What `init` does in an app, and what is left to do by hand. */
export interface Plan {
  readonly changes: readonly Change[]
  readonly createsKeys: boolean
  readonly byHand: readonly string[]
  /** The one command to run next. */
  readonly command: string
}

const NEW_APP_PACKAGES = ['@trpc/client', 'hono', '@hono/node-server', 'typescript', '@types/node']

/** Guides for apps whose files `init` doesn't write. */
const GUIDES: Partial<Record<Framework, string>> = {
  'Next.js': 'docs/nextjs.md',
  'TanStack Start': 'docs/tanstack-start.md',
  'React Router': 'docs/react-router.md',
  SvelteKit: 'docs/other-frameworks.md#sveltekit',
  Nuxt: 'docs/other-frameworks.md#nuxt',
  Vite: 'docs/react.md#serve-the-page',
}

/** Frameworks whose files `init` writes. A function returns null for an app that it doesn't know. */
const FRAMEWORKS: Partial<Record<Framework, (app: DetectedApp) => Steps | null>> = {
  'Next.js': planNext,
  'TanStack Start': planStart,
}

const MOUNTING: Partial<Record<Framework, string>> = {
  Hono: 'docs/server.md#hono',
  Express: 'docs/server.md#express',
  Fastify: 'docs/server.md#fastify',
}

/** @throws ConfigurationError if a file exists that `init` would write, or if Node can't run the files */
export function planInit(app: DetectedApp): Plan {
  const planFramework = app.framework === null ? undefined : FRAMEWORKS[app.framework]
  const steps = planFramework?.(app) ?? planServer(app)
  const { files } = steps
  const taken = files.filter(({ path, after }) => ![null, after].includes(readIfExists(path)))
  if (taken.length > 0) {
    const paths = taken.map(({ path }) => path).join(', ')
    throw new ConfigurationError(
      `Nothing written: ${paths} exists, and "sallyport init" never overwrites a file. Move it, or follow docs/install.md.`,
    )
  }
  const edits = [
    app.isNew ? asModule(app) : null,
    ignored(files.some(({ after }) => after.includes('file:data/')) ? ['.env', 'data/*.db*'] : ['.env']),
  ].filter((change) => change !== null)
  const add = steps.packages.filter((name) => !app.packages.has(name))
  const install = add.length === 0 ? '' : `${app.addPackages} ${add.join(' ')} && `
  return {
    changes: [...files.filter(({ path }) => readIfExists(path) === null), ...steps.edits, ...edits],
    createsKeys: parseEnv(readIfExists('.env') ?? '').SIGNING_KEYS === undefined,
    byHand: steps.byHand,
    command: `${install}${steps.command}`,
  }
}

function planServer(app: DetectedApp): Steps {
  const guide = guideOf(app)
  // Node can't import the files. A bundler can.
  if (guide === undefined && !app.isNew && JSON.parse(app.manifest).type === 'commonjs')
    throw new ConfigurationError(
      'Nothing written: package.json has "type": "commonjs", and the files are ES modules. Set "module", and run this again.',
    )
  const missing = ['kysely', 'better-sqlite3', '@trpc/server', ...(app.isNew ? NEW_APP_PACKAGES : [])]
  return {
    files: guide === undefined ? planFiles(app) : [],
    edits: [],
    byHand: byHand(app, guide),
    packages: guide === undefined ? missing : [],
    command: commandOf(app, guide),
  }
}

/** A single-page app of Vite may have the tRPC server in the same package. */
function guideOf({ framework, packages }: DetectedApp): string | undefined {
  const hasServer = framework === 'Vite' && packages.has('@trpc/server')
  return framework === null || hasServer ? undefined : GUIDES[framework]
}

/** A new app gets all five files and a tsconfig.json. Another one has a server and a router already. */
function planFiles({ folder, isNew, usesDatabaseUrl }: DetectedApp): Change[] {
  const names = [
    'auth.config.ts',
    'auth.ts',
    'context.ts',
    ...(isNew ? (['router.ts', 'server.ts'] as const) : []),
  ] as const
  const files = names.map((name) => newFile(join(folder, name), ownDatabase(FILES[name], usesDatabaseUrl)))
  const hasTsconfig = readIfExists('tsconfig.json') !== null
  return isNew && !hasTsconfig ? [...files, newFile('tsconfig.json', TSCONFIG)] : files
}

function asModule({ manifest: before }: DetectedApp): Change | null {
  if (JSON.parse(before).type === 'module') return null
  const after = COMMONJS.test(before)
    ? before.replace(COMMONJS, '$1"module"')
    : before.replace('{', '{\n  "type": "module",')
  return { path: 'package.json', before, after }
}

const COMMONJS = /("type"\s*:\s*)"commonjs"/

/** Keeps the keys and the database out of the repository. */
function ignored(wanted: readonly string[]): Change | null {
  const before = readIfExists('.gitignore')
  const lines = before?.split(/\r?\n/).map((line) => line.trim()) ?? []
  const missing = wanted.filter((path) => !isIgnored(path, lines))
  if (missing.length === 0) return null
  const end = before === null || before === '' || before.endsWith('\n') ? '' : '\n'
  return { path: '.gitignore', before, after: `${before ?? ''}${end}${missing.join('\n')}\n` }
}

function byHand(
  { framework, databaseTool, isNew, folder, manifest }: DetectedApp,
  guide: string | undefined,
): string[] {
  if (guide !== undefined)
    return [`For this ${framework} app, "sallyport init" writes only keys. Follow ${guide}.`]
  if (isNew) return []
  const mounting = (framework && MOUNTING[framework]) ?? 'docs/server.md'
  const tsconfig = readIfExists('tsconfig.json')
  const context = join(folder, 'context.ts')
  return [
    ...(framework === 'Vite' ? ['Create the client of the page: docs/react.md#set-up.'] : []),
    `Serve /api/auth, and pass httpContext of ${context} to tRPC: ${mounting}.`,
    'Guard the procedures: docs/protect.md#kinds-of-procedures.',
    ...(JSON.parse(manifest).type === 'module'
      ? []
      : ['Set "type": "module" in package.json: the files are ES modules.']),
    ...(tsconfig?.includes('ImportingTsExtensions') === false
      ? ['Set "allowImportingTsExtensions" in tsconfig.json: docs/install.md#typescript.']
      : []),
    ...(databaseTool === null || databaseTool === 'Kysely'
      ? []
      : [
          `Users are in a SQLite file. To use the database of ${databaseTool} instead, follow docs/databases.md#your-apps-client.`,
        ]),
  ]
}

function commandOf({ isNew, folder }: DetectedApp, guide: string | undefined): string {
  if (guide !== undefined) return 'npx sallyport keys list --env .env'
  if (isNew) return 'node --env-file=.env src/server.ts'
  const auth = folder === 'src' ? '' : ' --auth auth.ts'
  return `npx sallyport doctor configuration keys --env .env${auth}`
}
