/** The files of `docs/nextjs.md` that an app without tRPC gets. */
export const NEXT_FILES = {
  'auth.config.ts': `import { defineAuthConfig, staticJwks } from '@sallyport/core'

export const authConfig = defineAuthConfig(() => ({
  baseUrl: process.env.BASE_URL ?? 'http://localhost:3000',
  jwks: staticJwks(process.env.JWKS),
}))
`,
  'context.ts': `import { createAuth } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import type { AuthContext } from '@sallyport/trpc'
import authDefinition from './auth'

const open = () => openSqlite(process.env.DATABASE_URL ?? 'file:data/app.db')
// With a name, hot reloads share one database.
export const auth = createAuth(authDefinition, open, { name: 'app' })
export const createContext = (request: AuthContext) => ({ ...request, db: auth.db })
export type Context = ReturnType<typeof createContext>
`,
  'server.ts': `import { createNextAuth } from '@sallyport/trpc/next'
import { QueryClient } from '@tanstack/react-query'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { cache } from 'react'
import { authConfig } from './auth.config'
import { auth, createContext } from './context'
import { appRouter } from './router'

export const { GET, OPTIONS, POST, actionCaller, getPage, pageContext } = createNextAuth({
  auth,
  config: authConfig,
  router: appRouter,
  createContext,
  // In production: a header that your proxy or platform overwrites on every request.
  // addressHeader: 'x-real-ip',
})
export const getQueryClient = cache(() => new QueryClient())
export const trpc = createTRPCOptionsProxy({
  router: appRouter,
  ctx: pageContext,
  queryClient: getQueryClient,
})
`,
  'app/api/[...path]/route.ts': `export { GET, OPTIONS, POST } from '../../../server'
`,
  'proxy.ts': `import { createProxy } from '@sallyport/trpc/next'
import { authConfig } from './auth.config'
import { auth } from './context'

export const proxy = createProxy({ config: authConfig, token: auth.handler })
export const config = {
  matcher: [
    {
      source: '/((?!api|_next/static|_next/image|favicon.ico).*)',
      missing: [{ type: 'header', key: 'next-router-prefetch' }],
    },
  ],
}
`,
  'instrumentation.ts': `export async function register() {
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { drain } = await import('@sallyport/trpc')
    const { auth } = await import('./context')
    await auth.ready()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void drain({ auth }))
  }
}
`,
  'app/providers.tsx': `'use client'

import { authAwareRetry, authLink, createAuthClient } from '@sallyport/trpc/client'
import { AuthProvider } from '@sallyport/trpc/react'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import type { ReactNode } from 'react'
import type { auth } from '../context'
import type { AppRouter } from '../router'

export const { TRPCProvider, useTRPC, useTRPCClient } = createTRPCContext<AppRouter>()

function createClients(hydrate: HydrationState) {
  const client = createAuthClient<typeof auth.api>({ hydrate })
  const links = [authLink(client), httpBatchLink({ url: '/api/trpc', fetch: client.fetch, maxItems: 20 })]
  const queries = { staleTime: 30_000, ...authAwareRetry }
  const queryClient = new QueryClient({ defaultOptions: { queries } })
  return { client, trpcClient: createTRPCClient<AppRouter>({ links }), queryClient }
}

let inBrowser: ReturnType<typeof createClients> | undefined

// On the server, new for each page.
function getClients(user: HydrationState) {
  if (typeof window === 'undefined') return createClients(user)
  inBrowser ??= createClients(user)
  return inBrowser
}

export function Providers({ user, children }: { user: HydrationState; children: ReactNode }) {
  const clients = getClients(user)
  return (
    <QueryClientProvider client={clients.queryClient}>
      <AuthProvider {...clients}>
        <TRPCProvider {...clients}>{children}</TRPCProvider>
      </AuthProvider>
    </QueryClientProvider>
  )
}
`,
} as const
