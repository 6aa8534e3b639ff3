import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, test } from 'vitest'
import { STACK_EDITS } from '../../src/cli/init/better-t-stack/stack-edits.ts'
import { stackFiles } from '../../src/cli/init/better-t-stack/stack-files.ts'
import { hostSallyport } from '../support/host-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeApp } from '../support/write-app.ts'

// `pnpm test:apps better-t-stack` runs it in an app of create-better-t-stack.
const directory = temporaryDirectory()
const host = hostSallyport()
afterAll(host.stop)
const init = (cwd: string) => host.run(['init', '--yes'], { cwd })

const CLIENT = `import { QueryClient } from "@tanstack/react-query";
import { createTRPCClient, httpBatchLink } from "@trpc/client";

export const queryClient = new QueryClient({
});
export const trpcClient = createTRPCClient<AppRouter>({
  links: [
    httpBatchLink({
      url: \`\${ENV.VITE_SERVER_URL}/trpc\`,
    }),
  ],
});
`

/** Creates a workspace that has the lines that are edited. The real one is too large for this test. */
function createApp(files: Readonly<Record<string, string>> = {}): string {
  const edited = STACK_EDITS.map(({ path, replacements }) => [
    path,
    replacements.map(([before]) => before).join('\n'),
  ])
  return writeApp(directory, {
    'package.json': JSON.stringify({
      type: 'module',
      dependencies: { '@sallyport/core': '*', '@sallyport/trpc': '*' },
    }),
    'bts.jsonc': '{}\n',
    'apps/server/.env': 'DATABASE_URL=file:../../local.db\n',
    'apps/server/src/services.ts': 'import { createDb } from "@shop/db";\n',
    'packages/db/src/index.ts': 'import { createClient } from "@libsql/client";\n',
    'apps/web/src/utils/trpc.ts': CLIENT,
    ...Object.fromEntries(edited),
    ...files,
  })
}

const filesOf = (app: string): Record<string, string> =>
  Object.fromEntries(
    globSync(['*/*/**/*.*', '*/*/.env*', '.*'], { cwd: app, exclude: ['.git'] }).map((path) => [
      path.replaceAll('\\', '/'),
      readFileSync(join(app, path), 'utf8'),
    ]),
  )

test('init edits the server, the API, and the page, and writes the keys where the server reads them', async ({
  expect,
}) => {
  const app = createApp()
  const { code, stdout } = await init(app)
  expect(code).toBe(0)
  expect(stdout).toMatch(/\nNext:\n {2}npm i kysely && npm run env:generate && npm run dev\n$/)
  const files = filesOf(app)
  expect(files).toMatchObject(stackFiles('@shop/db'))
  for (const { path, replacements } of STACK_EDITS)
    for (const [, after] of replacements) expect(files[path]).toContain(after)
  expect(files['apps/web/src/utils/trpc.ts']).toContain(
    '    authLink(authClient),\n    httpBatchLink({\n      fetch: ',
  )
  expect(files['apps/web/src/utils/trpc.ts']).toContain('{ queries: { ...authAwareRetry } }')
  expect(files['apps/server/.env']).toMatch(/^DATABASE_URL=.*\nJWKS=.*\nSIGNING_KEYS=/)
  expect(statSync(join(app, 'apps/server/.env')).mode & 0o777).toBe(0o600)
  expect(files['.gitignore']).toBe('apps/server/.env\n')
  expect((await init(app)).stdout).toContain('Nothing to write.')
})

test('init leaves files to the user that it does not recognize, and shows the lines', async ({ expect }) => {
  const changed = { 'apps/server/src/index.ts': '// mine\n', 'apps/web/src/utils/trpc.ts': '// mine\n' }
  const app = createApp(changed)
  const { stdout } = await init(app)
  expect(filesOf(app)).toMatchObject(changed)
  expect(stdout).toContain("- Edit apps/server/src/index.ts, which init doesn't recognize:\n")
  expect(stdout).toContain('    + await auth.ready();\n')
  expect(stdout).toContain('- Connect the client in apps/web/src/utils/trpc.ts: docs/react.md#set-up.\n')
})

test('init writes no keys to a file that Git tracks', async ({ expect }) => {
  const app = createApp()
  const git = (...args: string[]) => execFileSync('git', args, { cwd: app })
  git('init', '-q')
  git('add', '-A')
  const before = filesOf(app)
  expect(await init(app)).toMatchObject({
    code: 1,
    stderr: 'Nothing written: Git tracks apps/server/.env. Run "git rm --cached apps/server/.env" first.\n',
  })
  expect(filesOf(app)).toEqual(before)
})

test('init lists the steps for a workspace with another database', async ({ expect }) => {
  const app = createApp({ 'packages/db/src/index.ts': 'import { PrismaClient } from "./client";\n' })
  const before = filesOf(app)
  expect((await init(app)).stdout).toContain('docs/server.md')
  expect(filesOf(app)).toMatchObject(before)
})
