import { existsSync } from 'node:fs'
import { join, parse } from 'node:path'
import { readIfExists } from '../changes.ts'
import type { DetectedApp } from '../detect.ts'
import { type Edit, NEVER } from '../edits.ts'
import { withExtension } from '../sources.ts'
import { inFolder, type NextSteps, type Steps, scriptCommand } from '../steps.ts'
import { FILES } from '../templates.ts'
import { layoutEdit } from './layout-edit.ts'
import { planRouter } from './plan-router.ts'
import { isT3, planT3 } from './plan-t3.ts'
import { requireNoAuth } from './require-no-auth.ts'
import { planSignIn } from './sign-in-page.ts'
import { NEXT_FILES } from './templates.ts'

/**
 * Plans an app with the App Router; null for one without it.
 * @throws ConfigurationError if another library signs users in
 */
export function planNext(app: DetectedApp): Steps | null {
  requireNoAuth(app)
  if (isT3()) return planApp(app, planT3())
  if (readIfExists(join(app.folder, 'app/layout.tsx')) === null) return null
  return planApp(app, app.packages.has('@trpc/server') ? planRouter(app) : planEmpty(app))
}

function planApp(app: DetectedApp, steps: NextSteps): Steps {
  const shared = { ...proxyFiles(app), 'instrumentation.ts': NEXT_FILES['instrumentation.ts'] }
  const files: Record<string, string> = {
    'auth.config.ts': NEXT_FILES['auth.config.ts'],
    'auth.ts': withoutExtensions(FILES['auth.ts'].replace(/^.*\n/, '')),
    ...steps.files,
  }
  const entries: Edit[] = []
  for (const [name, text] of Object.entries(shared)) {
    const path = existingEntry(name)
    if (path === undefined || readIfExists(join(app.folder, name)) === text) files[name] = text
    else {
      const rename = parse(path).name === parse(name).name ? 'Add' : `Rename it to ${name}, and add`
      const byHand = `${path} exists. ${rename} the code of docs/nextjs.md to it.`
      entries.push({ path, replacements: [NEVER], byHand })
    }
  }
  return {
    files: inFolder(app.folder, files),
    edits: [...entries, ...steps.edits],
    byHand: steps.byHand,
    packages: ['kysely', ...steps.packages],
    command: scriptCommand(app.addPackages, 'dev'),
  }
}

/** Returns a file that Next.js runs instead. It allows no `proxy.ts` beside a `middleware.ts`. */
function existingEntry(file: string): string | undefined {
  const names = file.startsWith('instrumentation') ? ['instrumentation'] : ['proxy', 'middleware']
  const paths = names.flatMap((name) =>
    ['ts', 'tsx', 'js', 'jsx', 'mjs'].map((ending) => `${name}.${ending}`),
  )
  return ['src', '.'].flatMap((folder) => paths.map((path) => join(folder, path))).find(existsSync)
}

/** Before Next.js 16, `proxy.ts` is `middleware.ts`, which runs on the edge by default. */
function proxyFiles({ manifest }: DetectedApp): Record<string, string> {
  const proxy = NEXT_FILES['proxy.ts']
  const [, major] = /"next"\s*:\s*"\D*(\d+)/.exec(manifest) ?? []
  if (major === undefined || Number(major) > 15) return { 'proxy.ts': proxy }
  const middleware = proxy.replace('const proxy', 'const middleware')
  return { 'middleware.ts': middleware.replace('config = {', "config = {\n  runtime: 'nodejs',") }
}

/** An app without tRPC. */
function planEmpty({ folder }: DetectedApp): NextSteps {
  const { 'proxy.ts': _, 'instrumentation.ts': __, ...files } = NEXT_FILES
  const signIn = planSignIn()
  return {
    files: {
      ...files,
      'router.ts': withoutExtensions(FILES['router.ts'].replace(/^.*\n/, '')),
      ...signIn.files,
    },
    edits: [layoutEdit(join(folder, 'app/layout.tsx'))],
    byHand: [
      `${signIn.byHand} Add procedures to ${join(folder, 'router.ts')}, and pages as app/me/page.tsx in docs/nextjs.md.`,
    ],
    packages: [
      'better-sqlite3',
      '@trpc/server',
      '@trpc/client',
      '@tanstack/react-query',
      '@trpc/tanstack-react-query',
    ],
  }
}

/** The bundler finds modules without an extension, and create-next-app's tsconfig.json allows no other. */
const withoutExtensions = (text: string): string => withExtension(text, '')
