import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { hostSallyport } from '../support/host-sallyport.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { writeApp } from '../support/write-app.ts'

// `pnpm test:apps next-sse-chat` builds and runs such an app.
const directory = temporaryDirectory()
const host = hostSallyport()
afterAll(host.stop)

const PACKAGES = { '@sallyport/core': '0', '@sallyport/trpc': '0', next: '16', '@trpc/server': '11' }
const MANIFEST = JSON.stringify({ name: 'app', type: 'module', dependencies: PACKAGES })
const FETCH = "import { fetchRequestHandler } from '@trpc/server/adapters/fetch'\n"
const ROUTE_FILE = 'src/app/api/trpc/[trpc]/route.ts'

/** As tRPC's guide for server components has them. */
const GUIDE = {
  [ROUTE_FILE]: `${FETCH}import { createTRPCContext } from '~/trpc/init'
import { appRouter } from '~/trpc/routers/_app'

function handler(req: Request) {
  return fetchRequestHandler({ endpoint: '/api/trpc', req, router: appRouter, createContext: createTRPCContext })
}
export { handler as GET, handler as POST }
`,
  'src/trpc/init.ts': `import { initTRPC } from '@trpc/server'
import { cache } from 'react'

export const createTRPCContext = cache(async () => {
  return { theme: 'dark' }
})
const t = initTRPC.create({
  isDev: false,
})
export const createTRPCRouter = t.router
/** For everyone. */
export const baseProcedure = t.procedure
`,
  'src/trpc/routers/_app.ts': 'export const appRouter = null\n',
  'src/trpc/query-client.ts': `import { QueryClient } from '@tanstack/react-query'
export const makeQueryClient = () => new QueryClient({ defaultOptions: { queries: { staleTime: 30 } } })
`,
  'src/trpc/client.tsx': `'use client'

import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink } from '@trpc/client'
import { useState } from 'react'

export function TRPCReactProvider({ children }: { children: React.ReactNode }) {
  const queryClient = getQueryClient()
  const [trpcClient] = useState(() =>
    createTRPCClient<AppRouter>({
      links: [splitLink({ condition, true: httpSubscriptionLink({ url }), false: httpBatchLink({ url }) })],
    }),
  )
  return (
    <QueryClientProvider client={queryClient}>
      <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
        {children}
      </TRPCProvider>
    </QueryClientProvider>
  )
}
`,
  'src/trpc/server.tsx': `import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
export const trpc = createTRPCOptionsProxy({ ctx: createTRPCContext, router: appRouter, queryClient })
`,
  'src/app/layout.tsx': `import { TRPCReactProvider } from '~/trpc/client'
export default ({ children }) => <TRPCReactProvider>{children}</TRPCReactProvider>
`,
}

async function init(files: Readonly<Record<string, string>>) {
  const app = writeApp(directory, { 'package.json': MANIFEST, ...GUIDE, ...files })
  const { code, stdout } = await host.run(['init', '--yes'], { cwd: app })
  const paths = globSync('src/**/*.{ts,tsx}', { cwd: app }).map((path) => path.replaceAll('\\', '/'))
  const written = Object.fromEntries(paths.map((path) => [path, readFileSync(join(app, path), 'utf8')]))
  return { app, code, stdout, files: written }
}

describe('init in a Next.js app with the files of the guide of tRPC', () => {
  test('edits them, and serves the router with the guards', async ({ expect }) => {
    const { app, code, stdout, files } = await init({})
    expect(code).toBe(0)
    expect(stdout).not.toContain("doesn't recognize")
    expect(files[ROUTE_FILE]).toBe("export { GET, OPTIONS, POST } from '../../../../server/next'\n")
    expect(files['src/app/api/auth/[...path]/route.ts']).toBe(files[ROUTE_FILE])
    expect(files['src/server/next.ts']).toContain("import { appRouter } from '../trpc/routers/_app'")
    expect(files['src/server/next.ts']).toContain('(request) => createTRPCContext(createContext(request))')
    const router = files['src/trpc/init.ts']
    expect(router).toContain('cache(async (opts: RequestContext) => {\n  return { ...opts, theme')
    expect(router).toContain('initTRPC.context<Context>().create({\n  errorFormatter: (o) =>')
    expect(router).toMatch(
      /use\(sessionMiddleware\)\n\n\/\*\* For everyone. \*\/\nexport const baseProcedure/,
    )
    expect(files['src/trpc/query-client.ts']).toContain('queries: { ...authAwareRetry, staleTime: 30 }')
    const provider = files['src/trpc/client.tsx']
    expect(provider).toContain('({ children, user }: { user: HydrationState; children: React.ReactNode })')
    expect(provider).toContain('createAuthClient<typeof auth.api>({ hydrate: user })')
    expect(provider).toContain('links: [authLink(authClient), splitLink(')
    expect(provider).toContain('true: subscriptionLink(authClient, { url })')
    expect(provider).toContain('httpBatchLink({ fetch: authClient.fetch, maxItems: 20, url })')
    expect(provider).not.toContain('httpSubscriptionLink')
    expect(provider).toContain('<AuthProvider client={authClient} queryClient={queryClient}>\n        <TRPC')
    expect(files['src/trpc/server.tsx']).toContain('ctx: pageContext,')
    expect(files['src/app/layout.tsx']).toContain("import { TRPCReactProvider } from './user-providers'")
    expect(files['src/app/user-providers.tsx']).toContain(
      "{ TRPCReactProvider as Providers } from '../trpc/client'",
    )
    expect((await host.run(['init', '--yes'], { cwd: app })).stdout).toContain('Nothing to write.')
  })

  test('recognizes a context that takes the headers', async ({ expect }) => {
    const headers = '(opts: { headers: Headers })'
    const pageContext = `async () =>
    createTRPCContext({
      headers: await headers(),
    })`
    const { stdout, files } = await init({
      [ROUTE_FILE]: GUIDE[ROUTE_FILE].replace(
        'createContext: createTRPCContext',
        'createContext: () => createTRPCContext({ headers: req.headers }),',
      ),
      'src/trpc/init.ts': GUIDE['src/trpc/init.ts'].replace('cache(async () => {', `async ${headers} => {`),
      'src/trpc/server.tsx': `${GUIDE['src/trpc/server.tsx'].replace('ctx: createTRPCContext', `ctx: ${pageContext}`)}
export const caller = appRouter.createCaller(${pageContext},
)
`,
    })
    expect(stdout).not.toContain("doesn't recognize")
    expect(files['src/server/next.ts']).toContain('(request) => createTRPCContext(createContext(request))')
    expect(files['src/trpc/init.ts']).toContain(
      'async (opts: RequestContext) => {\n  return { ...opts, theme',
    )
    expect(files['src/trpc/server.tsx']).toContain('ctx: pageContext, router')
    expect(files['src/trpc/server.tsx']).toContain('appRouter.createCaller(pageContext)\n')
  })

  test('leaves a sign-in page in a route group to the user', async ({ expect }) => {
    const { stdout, files } = await init({ 'src/app/(auth)/sign-in/page.tsx': '// mine\n' })
    expect(stdout).toContain('- src/app/(auth)/sign-in/page.tsx exists.')
    expect(Object.keys(files)).not.toContain('src/app/sign-in/page.tsx')
  })

  test('allows other dynamic paths above app/api/auth', async ({ expect }) => {
    const { code, files } = await init({ 'src/app/api/[[...route]]/route.ts': '// mine\n' })
    expect(code).toBe(0)
    expect(Object.keys(files)).toContain('src/app/api/auth/[...path]/route.ts')
  })

  test('keeps a function for errors', async ({ expect }) => {
    const onError = 'onError({ error }) { console.error(error) },'
    const route = GUIDE[ROUTE_FILE].replace('req, router', `req, ${onError} router`)
    const { files } = await init({ [ROUTE_FILE]: route })
    expect(files['src/server/next.ts']).toContain(`  ${onError}\n})`)
  })

  test('asks for the auth store in a db of the app', async ({ expect }) => {
    const text = GUIDE['src/trpc/init.ts'].replace("theme: 'dark'", "theme: 'dark', db")
    const { stdout } = await init({ 'src/trpc/init.ts': text })
    expect(stdout).toContain('- Your context has its own db. Replace it with withAuthStore(db, auth.store)')
    expect((await init({})).stdout).not.toContain('withAuthStore(db')
  })

  test.for([
    ['uses the request', 'createContext: () => ({ ip: req.headers })'],
    ['uses another import', 'createContext: createTRPCContext, onError: report'],
  ] as const)('leaves a route that %s to the user', async ([_name, options], { expect }) => {
    const route = GUIDE[ROUTE_FILE].replace('createContext: createTRPCContext', options)
    const { code, stdout, files } = await init({
      [ROUTE_FILE]: `import { report } from '~/report'\n${route}`,
      'src/report.ts': '',
    })
    expect(code).toBe(0)
    expect(stdout).toContain('docs/nextjs.md#in-an-existing-app')
    expect(files).toMatchObject({ ...GUIDE, [ROUTE_FILE]: expect.stringContaining(route) })
    expect(Object.keys(files)).not.toContain('src/server/next.ts')
  })

  const { 'src/trpc/init.ts': context } = GUIDE
  test.for([
    [
      'uses the request',
      context
        .replace('async () => {', 'async (opts: FetchCreateContextFnOptions) => {')
        .replace("'dark'", "opts.req.headers.get('theme')"),
    ],
    ['has two results', context.replace('  return', "  if (isBot) return { theme: 'light' }\n  return")],
  ] as const)(
    'leaves a context that %s to the user, and shows the lines',
    async ([_name, text], { expect }) => {
      const { stdout, files } = await init({ 'src/trpc/init.ts': text })
      expect(files['src/trpc/init.ts']).toBe(text)
      expect(stdout).toContain("- Edit src/trpc/init.ts, which init doesn't recognize:\n")
      expect(stdout).toContain('    + createTRPCContext(opts: RequestContext) { return { ...opts, ')
    },
  )
})
