import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { REPLACED_FILES } from '../../src/cli/init/start/replaced-files.ts'
import { START_FILES } from '../../src/cli/init/start/templates.ts'
import { FILES } from '../../src/cli/init/templates.ts'
import { runSallyport } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeApp } from '../support/write-app.ts'

// `pnpm test:apps 'TanStack Start'` runs it in an app of TanStack's CLI.
const directory = temporaryDirectory()
const GUIDE = fileURLToPath(new URL('../../../../docs/tanstack-start.md', import.meta.url))
const ROOT_ROUTE = `import type { QueryClient } from '@tanstack/react-query'

interface MyRouterContext {
  queryClient: QueryClient
}
`

/** Creates an app with the add-on tRPC, in which the user has changed the files that the CLI wrote. */
function createApp(files: Readonly<Record<string, string>> = {}): string {
  const packages = ['@sallyport/core', '@sallyport/trpc', '@tanstack/react-start', '@trpc/server']
  const dependencies = Object.fromEntries(packages.map((name) => [name, '*']))
  return writeApp(directory, {
    'package.json': JSON.stringify({ type: 'module', dependencies }),
    'src/integrations/trpc/router.ts': 'export {}\n',
    'src/routes/__root.tsx': ROOT_ROUTE,
    ...Object.fromEntries(REPLACED_FILES.map(({ path }) => [path, '// mine\n'])),
    ...files,
  })
}

const filesOf = (app: string): Record<string, string> =>
  Object.fromEntries(
    globSync('src/**/*.{ts,tsx}', { cwd: app })
      .toSorted()
      .map((path) => [path.replaceAll('\\', '/'), readFileSync(join(app, path), 'utf8')]),
  )

test('the files that init writes are those of the guide', ({ expect }) => {
  const guide = readFileSync(GUIDE, 'utf8')
  const files = [
    ...Object.entries(START_FILES),
    ...REPLACED_FILES.map(({ path, after }) => [path, after] as const),
  ]
  for (const [path, text] of files) {
    expect(text.startsWith(`// ${path}\n`)).toBe(true)
    expect(guide.split(/\n```(?:tsx?\n)?/)).toContain(text.trimEnd())
  }
})

test('init leaves files to the user that are not as the CLI wrote them, and names them', async ({
  expect,
}) => {
  const app = createApp()
  const { code, stdout } = await runSallyport(['init', '--yes'], { cwd: app })
  expect(code).toBe(0)
  const files = filesOf(app)
  for (const { path } of REPLACED_FILES) {
    expect(files[path]).toBe('// mine\n')
    expect(stdout).toContain(`- Add the code of docs/tanstack-start.md to ${path}.\n`)
  }
  expect(files).toMatchObject({ ...START_FILES, 'src/auth.ts': FILES['auth.ts'] })
  expect(files['src/routes/__root.tsx']).toContain('interface MyRouterContext {\n  client: AuthClient\n')
  expect(stdout).toMatch(/\nNext:\n {2}npm i kysely better-sqlite3 && npm run dev\n$/)
  expect((await runSallyport(['init', '--yes'], { cwd: app })).stdout).toContain('Nothing to write.')
})

test('init replaces a file whose text is known', async ({ expect }) => {
  const [file] = REPLACED_FILES
  const hash = createHash('sha256').update(ORIGINAL_INIT).digest('hex')
  expect(file).toMatchObject({ path: 'src/integrations/trpc/init.ts', before: hash })
  const app = createApp({ 'src/integrations/trpc/init.ts': ORIGINAL_INIT })
  const { stdout } = await runSallyport(['init', '--yes'], { cwd: app })
  expect(filesOf(app)['src/integrations/trpc/init.ts']).toBe(file?.after)
  expect(stdout).not.toContain('Add to src/integrations/trpc/init.ts')
  expect(stdout).toContain("  + import { authErrorData, sessionMiddleware } from '@sallyport/trpc'\n")
})

const ORIGINAL_INIT = `import { initTRPC } from '@trpc/server'
import superjson from 'superjson'

const t = initTRPC.create({
  transformer: superjson,
})

export const createTRPCRouter = t.router
export const publicProcedure = t.procedure
`

test('init leaves a DATABASE_URL to the app', async ({ expect }) => {
  const app = createApp({ 'src/db.ts': 'export const url = process.env.DATABASE_URL\n' })
  await runSallyport(['init', '--yes'], { cwd: app })
  const { 'src/context.ts': context } = filesOf(app)
  expect(context).toContain("process.env.AUTH_DATABASE_URL ?? 'file:data/auth.db'")
})
