import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, test } from 'vitest'
import { t3Edits } from '../../src/cli/init/next/t3-edits.ts'
import { NEXT_FILES } from '../../src/cli/init/next/templates.ts'
import { hostSallyport } from '../support/host-sallyport.ts'
import type { Run } from '../support/run-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeApp } from '../support/write-app.ts'

// `pnpm test:apps t3` builds and runs apps of the real create-t3-app.
const directory = temporaryDirectory()
const DOCS = fileURLToPath(new URL('../../../../docs/', import.meta.url))
const BIOME = fileURLToPath(new URL('../../../../node_modules/@biomejs/biome/bin/biome', import.meta.url))

const manifest = (packages: Readonly<Record<string, string>>) => {
  const dependencies = { '@sallyport/core': '0.0.0', '@sallyport/trpc': '0.0.0', ...packages }
  return JSON.stringify({ name: 'app', type: 'module', dependencies })
}

const host = hostSallyport()
afterAll(host.stop)
const init = (cwd: string): Promise<Run> => host.run(['init', '--yes'], { cwd })

const filesOf = (app: string) =>
  Object.fromEntries(
    globSync(['**/*.{ts,tsx}', '.gitignore'], { cwd: app })
      .toSorted()
      .map((path) => [path.replaceAll('\\', '/'), readFileSync(join(app, path), 'utf8')]),
  )

const LAYOUT = `import "./globals.css";

export default function RootLayout({ children }: LayoutProps<"/">) {
  return (
    <html lang="en">
      <body className="min-h-full">{children}</body>
    </html>
  );
}
`

const createEmpty = (files: Readonly<Record<string, string>> = {}) =>
  writeApp(directory, {
    'package.json': manifest({ next: '^16.4.0' }),
    'src/app/layout.tsx': LAYOUT,
    '.gitignore': '/node_modules\n.env*',
    ...files,
  })

describe('init in an app of create-next-app', () => {
  test('writes the files of the guide, and the providers into the layout', async ({ expect }) => {
    const app = createEmpty({ 'pnpm-lock.yaml': '' })
    const { code, stdout } = await init(app)
    expect(code).toBe(0)
    expect(stdout).toMatch(/\nNext:\n {2}pnpm add kysely better-sqlite3 .* && pnpm run dev\n$/)
    const guide = readFileSync(join(DOCS, 'nextjs.md'), 'utf8')
    const files = filesOf(app)
    for (const [name, text] of Object.entries(NEXT_FILES)) {
      const language = name.split('.').at(-1)
      expect(guide).toContain([`\n\`\`\`${language}`, `// ${name}`, `${text}\`\`\`\n`].join('\n'))
      expect(files[`src/${name}`]).toBe(text)
    }
    const more = ['app/layout.tsx', 'app/sign-in/page.tsx', 'auth.ts', 'router.ts']
    const paths = [...Object.keys(NEXT_FILES), ...more].map((name) => `src/${name}`)
    expect(Object.keys(files)).toEqual(['.gitignore', ...paths.toSorted()])
    expect(files['src/router.ts']).toContain("from './context'")
    expect(files['src/app/layout.tsx']).toContain('          <User>{children}</User>\n')
    expect(files['.gitignore']).toBe('/node_modules\n.env*\ndata/*.db*\n')
    expect((await init(app)).stdout).toContain('Nothing to write.')
  })

  // `pnpm test:apps` runs ESLint, the other linter that create-next-app offers.
  test('writes files that Biome accepts', async ({ expect }) => {
    const app = createEmpty()
    expect((await init(app)).code).toBe(0)
    const { stdout, stderr } = spawnSync(BIOME, ['lint', '--error-on-warnings'], {
      cwd: app,
      encoding: 'utf8',
    })
    expect(stdout + stderr).toMatch(/^Checked \d+ files/)
  })

  test('before Next.js 16, writes middleware.ts for Node.js', async ({ expect }) => {
    const app = createEmpty({ 'package.json': manifest({ next: '15.5.2' }) })
    expect((await init(app)).code).toBe(0)
    const { 'src/middleware.ts': middleware, 'src/proxy.ts': proxy } = filesOf(app)
    expect(middleware).toMatch(/const middleware = [\s\S]+ {2}runtime: 'nodejs',/)
    expect(proxy).toBeUndefined()
  })

  test.for([
    { path: 'src/proxy.js', step: 'Add' },
    { path: 'proxy.mjs', step: 'Add' },
    { path: 'src/middleware.ts', step: 'Rename it to proxy.ts, and add' },
    { path: 'middleware.tsx', step: 'Rename it to proxy.ts, and add' },
    { path: 'middleware.js', step: 'Rename it to proxy.ts, and add' },
    { path: 'src/instrumentation.mjs', step: 'Add' },
    { path: 'instrumentation.ts', step: 'Add' },
    { path: 'instrumentation.jsx', step: 'Add' },
  ])('leaves $path to the user', async ({ path, step }, { expect }) => {
    const app = createEmpty({ [path]: '// mine\n' })
    const { code, stdout } = await init(app)
    expect(code).toBe(0)
    expect(readFileSync(join(app, path), 'utf8')).toBe('// mine\n')
    const ours = path.includes('instrumentation') ? 'src/instrumentation.ts' : 'src/proxy.ts'
    expect(existsSync(join(app, ours))).toBe(path === ours)
    expect(stdout).toContain(`- ${path} exists. ${step} the code of docs/nextjs.md to it.\n`)
  })

  test.for([
    '(site)/sign-in/page.tsx',
    'sign-in/[[...sign-in]]/page.jsx',
    '(a)/(b)/sign-in/[...rest]/page.tsx',
  ])('leaves the sign-in page app/%s to the user', async (path, { expect }) => {
    const app = createEmpty({ [`src/app/${path}`]: '// mine\n' })
    const { code, stdout } = await init(app)
    expect(code).toBe(0)
    expect(existsSync(join(app, 'src/app/sign-in/page.tsx'))).toBe(false)
    expect(stdout).toContain(`src/app/${path} exists. Let it call signInEmail: docs/react.md.`)
  })

  test('leaves a proxy.ts and another layout to the user', async ({ expect }) => {
    const files = { 'src/proxy.ts': '// mine\n', 'src/app/layout.tsx': '// mine\n' }
    const app = createEmpty(files)
    const { code, stdout } = await init(app)
    expect(code).toBe(0)
    expect(filesOf(app)).toMatchObject(files)
    expect(stdout).toContain("- Edit src/app/layout.tsx, which init doesn't recognize:\n    - import")
    expect(stdout).toContain('- src/proxy.ts exists. Add')
  })

  test('with another router, writes what the guide adds to existing apps', async ({ expect }) => {
    const app = createEmpty({ 'package.json': manifest({ next: '16', '@trpc/server': '11' }) })
    const { code, stdout } = await init(app)
    expect(code).toBe(0)
    expect(stdout).toContain('docs/nextjs.md#in-an-existing-app')
    expect(readFileSync(join(DOCS, 'nextjs.md'), 'utf8')).toContain('\n## In an existing app\n')
    const files = filesOf(app)
    expect(files['src/app/layout.tsx']).toBe(LAYOUT)
    expect(Object.keys(files)).not.toContain('src/router.ts')
  })
})

describe('init writes nothing into an app', () => {
  test.for([
    ['with NextAuth', { 'package.json': manifest({ next: '16', 'next-auth': '5' }) }, 'next-auth'],
    ['with Auth.js', { 'package.json': manifest({ next: '16', '@auth/core': '0' }) }, '@auth/core'],
    ['with Better Auth', { 'package.json': manifest({ next: '16', 'better-auth': '1' }) }, 'better-auth'],
    ['with Clerk', { 'package.json': manifest({ next: '16', '@clerk/nextjs': '6' }) }, '@clerk/nextjs'],
    [
      'with tRPC and app/api/auth/[...nextauth]',
      {
        'package.json': manifest({ next: '16', '@trpc/server': '11' }),
        'src/app/api/auth/[...nextauth]/route.ts': '',
      },
      '[...nextauth]',
    ],
    ...['auth/[...nextauth]', 'auth/[[...path]]', '[[...route]]', '[id]'].map(
      (slug) => [`with app/api/${slug}`, { [`src/app/(site)/api/${slug}/route.ts`]: '' }, slug] as const,
    ),
  ] as const)('%s, and names the guide', async ([_name, files, reason], { expect }) => {
    const app = createEmpty(files)
    const before = filesOf(app)
    const { code, stderr } = await init(app)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(reason) })
    expect(stderr).toMatch(/^Nothing written: .* docs\/migrating\.md/)
    expect(filesOf(app)).toEqual(before)
    expect(existsSync(join(app, '.env'))).toBe(false)
  })
})

describe('init in an app of create-t3-app', () => {
  const EDITS = t3Edits({ alias: '~/', hasDatabase: true })

  /** Creates an app that has the lines that are edited. The real app is too large for this test. */
  function createT3(files: Readonly<Record<string, string>> = {}): string {
    const edited = EDITS.map(({ path, replacements }) => [
      path,
      replacements.map(([before]) => before).join('\n'),
    ])
    return writeApp(directory, {
      'package.json': manifest({ next: '^15.2.3', kysely: '0', '@trpc/server': '11' }),
      '.gitignore': '.env\n',
      'src/app/api/trpc/[trpc]/route.ts': '// mine\n',
      'src/server/db/index.ts': 'import { createClient } from "@libsql/client";\n',
      'drizzle.config.ts': 'export default { tablesFilter: ["app_*"] };\n',
      ...Object.fromEntries(edited),
      ...files,
    })
  }

  test('edits its files, and uses its database', async ({ expect }) => {
    const app = createT3()
    const { stdout } = await init(app)
    expect(stdout).toMatch(/\nNext:\n {2}npm run dev\n$/)
    const files = filesOf(app)
    expect(files['src/context.ts']).toContain('openSqlite({ client: client.$client })')
    for (const { path, replacements } of EDITS)
      for (const [before, after] of replacements) {
        expect(files[path]).toContain(after)
        // With `verbatimModuleSyntax`, it would import the server into the page.
        expect(after.replace(String(before), '')).not.toMatch(/import \{ type \w+ \} from/)
      }
    expect(stdout).not.toContain('data/auth.db')
    expect((await init(app)).stdout).toContain('Nothing to write.')
  })

  test('leaves a file that it does not recognize to the user, and shows the lines', async ({ expect }) => {
    const app = createT3({ 'src/trpc/react.tsx': '// mine\n' })
    const { stdout } = await init(app)
    const files = filesOf(app)
    expect(files['src/trpc/react.tsx']).toBe('// mine\n')
    expect(files['src/app/api/trpc/[trpc]/route.ts']).toBe('// mine\n')
    expect(stdout).toContain("- Edit src/trpc/react.tsx, which init doesn't recognize:\n")
    expect(stdout).toContain('    +         authLink(authClient),\n')
    expect(stdout).toContain('    - All lines\n    + export { GET, OPTIONS, POST } from "~/server/next";\n')
  })

  test('leaves a sign-in page in a route group to the user', async ({ expect }) => {
    const app = createT3({ 'src/app/(auth)/sign-in/page.tsx': '// mine\n' })
    expect((await init(app)).stdout).toContain('- src/app/(auth)/sign-in/page.tsx exists.')
    expect(existsSync(join(app, 'src/app/sign-in'))).toBe(false)
  })

  test('edits nothing if it does not recognize trpc.ts, and shows the lines of all edits', async ({
    expect,
  }) => {
    const app = createT3({ 'src/server/api/trpc.ts': '// mine\n' })
    const before = filesOf(app)
    const { code, stdout } = await init(app)
    expect(code).toBe(0)
    expect(filesOf(app)).toMatchObject({ ...before, '.gitignore': expect.any(String) })
    expect(stdout).toContain("- Edit src/server/api/trpc.ts, which init doesn't recognize:\n")
    expect(stdout).toContain('- Edit src/trpc/react.tsx:\n')
  })

  test.for([
    {
      app: 'postgres.js',
      database: 'import postgres from "postgres";',
      opens: 'openPostgres({ pool: client.$client })',
    },
    { app: 'MySQL', database: 'import mysql from "mysql2";', reason: 'only libsql and postgres.js' },
    { app: 'Prisma', database: 'import { PrismaClient } from "x";', reason: 'Prisma does not share' },
    { app: 'Drizzle without tablesFilter', config: '', reason: 'drizzle-kit push would drop' },
  ])('with $app, puts users where they are safe', async (scene, { expect }) => {
    const { database = 'import { createClient } from "@libsql/client";', config, opens, reason } = scene
    const app = createT3({
      'src/server/db/index.ts': `${database}\n`,
      ...(config !== undefined && { 'drizzle.config.ts': config }),
    })
    const { stdout } = await init(app)
    const context = readFileSync(join(app, 'src/context.ts'), 'utf8')
    expect(context).toContain(opens ?? "openSqlite(process.env.AUTH_DATABASE_URL ?? 'file:data/auth.db')")
    if (reason === undefined) expect(stdout).not.toContain('data/auth.db')
    else
      expect(stdout).toMatch(
        new RegExp(`Users are in data/auth.db, .*${reason}[\\s\\S]* better-sqlite3 && npm run dev`),
      )
  })

  test('without a database handle, opens its own database', async ({ expect }) => {
    const path = 'src/server/api/trpc.ts'
    const lines = t3Edits({ alias: '~/', hasDatabase: false }).find((edit) => edit.path === path)
    const app = createT3({ [path]: (lines?.replacements ?? []).map(([before]) => before).join('\n') })
    rmSync(join(app, 'src/server/db'), { recursive: true })
    expect((await init(app)).code).toBe(0)
    const files = filesOf(app)
    expect(files['src/context.ts']).toBe(NEXT_FILES['context.ts'])
    expect(files[path]).toContain('import type { Context } from "~/context";')
    expect(existsSync(join(app, '.env'))).toBe(true)
  })

  test('without a database handle, leaves a DATABASE_URL to the app', async ({ expect }) => {
    const app = createT3({ '.env': 'DATABASE_URL=postgres://localhost/app\n' })
    rmSync(join(app, 'src/server/db'), { recursive: true })
    await init(app)
    expect(filesOf(app)['src/context.ts']).toContain("process.env.AUTH_DATABASE_URL ?? 'file:data/auth.db'")
  })
})
