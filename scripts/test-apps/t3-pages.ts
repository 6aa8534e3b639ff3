import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../test-packages/run.ts'
import type { App, Place } from './app.ts'
import { type Edits, editFiles } from './edit-files.ts'
import { guideFiles } from './guide-files.ts'
import { installApp, installPackages, mockFonts, proveBuilt } from './init-app.ts'
import { PROCEDURES } from './t3-proofs.ts'
import { usersInFile } from './t3-users.ts'

/** The app of docs/pages-router.md, in one of create-t3-app. */
export const t3Pages: App = { name: 't3-pages', test: testPages }

const FLAGS = ['--CI', '--noGit', '--noInstall', '--trpc', '--drizzle', '--eslint', '--tailwind']

async function testPages({ root, libraries, browser }: Place): Promise<void> {
  run('npx', ['-y', 'create-t3-app@7.40.0', 't3-pages', ...FLAGS, '--appRouter', 'false'], { cwd: root })
  const cwd = join(root, 't3-pages')
  installApp(cwd, libraries)
  run('npx', ['sallyport', 'init', '--yes'], { cwd })
  installPackages(cwd, ['kysely', 'hono', '@hono/node-server'])
  rmSync(join(cwd, 'src/pages/api/trpc'), { recursive: true })
  editFiles(cwd, { ...filesOfGuide(), ...FILES })
  editFiles(cwd, EDITS)
  run('npm', ['run', 'db:push'], { cwd })
  const { ban } = usersInFile('db.sqlite')(cwd)
  await proveBuilt(cwd, { env: mockFonts(root), browser, ban, isSuperjson: true })
}

function filesOfGuide() {
  const { 'src/context.ts': context = '', ...files } = guideFiles({
    library: 'src/',
    blocks: {
      'docs/nextjs.md': [[/^instrumentation\.ts$/, 'src/']],
      'docs/pages-router.md': [[/./, 'src/']],
    },
  })
  return { ...files, 'src/context.ts': withDrizzle(context) }
}

/** Uses the app's database, and leaves the end to `instrumentation.ts`. */
const withDrizzle = (context: string) =>
  context
    .replace(/^.*drain.*\n/, "import { withAuthStore } from '@sallyport/core'\n")
    .replace(/^if .*\n/m, '')
    .replace("from './auth'\n", "$&import { db as client } from './server/db'\n")
    .replace(/process\.env\.DATABASE_URL.*(?=\))/, '{ client: client.$client }')
    .replace('const context', 'const db = withAuthStore(client, auth.store)\n$&')
    .replaceAll('db: auth.db', 'db')

const FILES = {
  'src/router.ts': "export * from './server/api/root'\n",
  'src/pages/index.tsx': 'export default function HomePage() {\n  return <p>Home</p>;\n}\n',
}

/** The steps of the guide, and what `proveApp` needs. */
const EDITS: Edits = {
  'src/server/api/trpc.ts': [
    [
      'import { type CreateNextContextOptions } from "@trpc/server/adapters/next";',
      'import { authErrorData, sessionMiddleware } from "@sallyport/trpc";',
    ],
    ['import { db } from "~/server/db";', 'import type { Context } from "~/context";'],
    ['type CreateContextOptions = Record<string, never>;\n', ''],
    [
      'const createInnerTRPCContext = (_opts: CreateContextOptions) => {\n  return {\n    db,\n  };\n};\n',
      '',
    ],
    [
      'export const createTRPCContext = (_opts: CreateNextContextOptions) => {\n  return createInnerTRPCContext({});\n};\n',
      '',
    ],
    ['context<typeof createTRPCContext>', 'context<Context>'],
    ['errorFormatter({ shape, error })', 'errorFormatter({ shape, error, path })'],
    ['        ...shape.data,\n', '        ...shape.data,\n        auth: authErrorData({ error, path }),\n'],
    [
      'export const publicProcedure = t.procedure.use(timingMiddleware);\n',
      `export const publicProcedure = t.procedure.use(timingMiddleware);
export const protectedProcedure = publicProcedure.use(sessionMiddleware);
`,
    ],
  ],
  'src/server/api/root.ts': [
    ['createTRPCRouter }', 'createTRPCRouter, protectedProcedure }'],
    ['  post: postRouter,\n', PROCEDURES],
  ],
  'src/utils/api.ts': [
    [
      'import { httpBatchLink, loggerLink }',
      `import { authAwareRetry, authLink, subscriptionLink } from "@sallyport/trpc/client";
import { httpBatchLink, loggerLink, splitLink }`,
    ],
    [
      'import { type AppRouter }',
      'import { getAuthClient } from "~/auth-client";\nimport { type AppRouter }',
    ],
    [
      '  config() {\n    return {\n',
      `  config() {
    const client = getAuthClient();
    return {
      queryClientConfig: { defaultOptions: { queries: { staleTime: 30_000, ...authAwareRetry } } },
`,
    ],
    ['      links: [\n', '      links: [\n        authLink(client),\n'],
    [
      '        httpBatchLink({\n',
      `        splitLink({
          condition: ({ type }) => type === "subscription",
          true: subscriptionLink(client, { url: "/api/trpc", transformer: superjson }),
          false: httpBatchLink({ fetch: client.fetch, maxItems: 20,
`,
    ],
    ['/api/trpc`,\n        }),\n', '/api/trpc`,\n        }) }),\n'],
  ],
  'src/pages/_app.tsx': [
    [
      "import { useState } from 'react'",
      "import { useRouter } from 'next/router'\nimport { useEffect, useState } from 'react'",
    ],
    [
      '  return (\n    <AuthProvider',
      `  const router = useRouter()
  useEffect(() => {
    Object.assign(window, { client, router })
  })
  return (
    <AuthProvider`,
    ],
  ],
  'src/pages/me.tsx': [
    [
      '  return isAuthenticated ? <p>{me.data?.email}</p> : null',
      `  const ticks = api.ticks.useSubscription(undefined, { enabled: isAuthenticated })
  return isAuthenticated ? <><p>{me.data?.email}</p><p>tick {ticks.data}</p></> : null`,
    ],
  ],
}
