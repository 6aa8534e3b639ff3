/** A file of a new app, as the guide has it. */
export interface ReplacedFile {
  readonly path: string
  /** The SHA-256 of what the scaffold wrote: any other text belongs to the user. */
  readonly before: string
  readonly after: string
}

/** The files of `@tanstack/cli create --add-ons tRPC` that `docs/tanstack-start.md` replaces. */
export const REPLACED_FILES: readonly ReplacedFile[] = [
  {
    path: 'src/integrations/trpc/init.ts',
    before: '6ac37d2651612389535e4a5aa42cf0841c11ac879218f9f9d34174c39cd2fd57',
    after: `// src/integrations/trpc/init.ts
import { authErrorData, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import superjson from 'superjson'
import type { Context } from '#/context'

const t = initTRPC.context<Context>().create({
  transformer: superjson,
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})

export const createTRPCRouter = t.router
export const publicProcedure = t.procedure
export const protectedProcedure = t.procedure.use(sessionMiddleware)
`,
  },
  {
    path: 'src/routes/api.trpc.$.tsx',
    before: '7d3a5335eff3f363efd4c3a3c3f4c86aec267bb65198e32ee8eda713cf1c0ef2',
    after: `// src/routes/api.trpc.$.tsx
import { createFileRoute } from '@tanstack/react-router'
import { handler } from '../context.ts'

export const Route = createFileRoute('/api/trpc/$')({ server: { handlers: { ANY: handler } } })
`,
  },
  {
    path: 'src/integrations/tanstack-query/root-provider.tsx',
    before: 'addc53dc7f621ad54e5107f4e53a7a9653465c7bbea593452b38626c2782b7bf',
    after: `// src/integrations/tanstack-query/root-provider.tsx
import { authAwareRetry, authLink, createAuthClient, subscriptionLink } from '@sallyport/trpc/client'
import { AuthProvider } from '@sallyport/trpc/react'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { getGlobalStartContext } from '@tanstack/react-start'
import type { ReactNode } from 'react'
import { QueryClient } from '@tanstack/react-query'
import superjson from 'superjson'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'

import type { auth } from '../../context.ts'
import type { TRPCRouter } from '#/integrations/trpc/router'
import { TRPCProvider } from '#/integrations/trpc/react'

export function getContext(onUserChange: () => void) {
  const { page, link } = getGlobalStartContext() ?? {} // only on the server
  let user: HydrationState | undefined
  const client = createAuthClient<typeof auth.api>({ hydrate: () => page?.state ?? user, onUserChange })
  const http = { url: '/api/trpc', transformer: superjson } as const
  const inBrowser = splitLink({
    condition: ({ type }) => type === 'subscription',
    true: subscriptionLink<TRPCRouter>(client, http),
    false: httpBatchLink<TRPCRouter>({ ...http, fetch: client.fetch, maxItems: 20 }),
  })
  const trpcClient = createTRPCClient<TRPCRouter>({ links: [authLink(page ?? client), link ?? inBrowser] })
  const deserializeData = (data: Parameters<typeof superjson.deserialize>[0]) => {
    if (client.getState().userChanges > 0) throw new Error('The page streams for another user')
    return superjson.deserialize(data)
  }
  // The browser makes failed queries again.
  const shouldDehydrateQuery = ({ state }: { state: { status: string } }) => state.status !== 'error'
  const queryClient = new QueryClient({
    defaultOptions: {
      queries: { staleTime: 30_000, ...authAwareRetry },
      dehydrate: { serializeData: superjson.serialize, shouldDehydrateQuery },
      hydrate: { deserializeData },
    },
  })

  const serverHelpers = createTRPCOptionsProxy({
    client: trpcClient,
    queryClient: queryClient,
  })
  const context = {
    queryClient,
    trpc: serverHelpers,
    client,
    trpcClient,
    hydration: {
      dehydrate: () => ({ user: page?.state }),
      hydrate(page: { user: HydrationState | undefined }) {
        user = page.user
      },
    },
  }

  return context
}

export default function TanstackQueryProvider({
  children,
  context,
}: {
  children: ReactNode
  context: ReturnType<typeof getContext>
}) {
  return (
    <AuthProvider {...context}>
      <TRPCProvider {...context}>{children}</TRPCProvider>
    </AuthProvider>
  )
}
`,
  },
  {
    path: 'src/router.tsx',
    before: 'e6f97dd2b6e8e3c0fcdb61adbbd9a2446841bff6ff9c465a9a039faef52ceb03',
    after: `// src/router.tsx
import { createRouter as createTanStackRouter } from '@tanstack/react-router'
import { routeTree } from './routeTree.gen'

import type { ReactNode } from 'react'
import { setupRouterSsrQueryIntegration } from '@tanstack/react-router-ssr-query'
import TanstackQueryProvider, { getContext } from './integrations/tanstack-query/root-provider'

export function getRouter() {
  const context = getContext(() => {
    router.clearCache()
    void router.invalidate({ forcePending: true })
  })

  const router = createTanStackRouter({
    routeTree,
    context,
    ...context.hydration,
    // Replaces what loaders returned for the former user.
    defaultPendingComponent: () => null,
    scrollRestoration: true,
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,

    Wrap: (props: { children: ReactNode }) => {
      return <TanstackQueryProvider context={context}>{props.children}</TanstackQueryProvider>
    },
  })

  setupRouterSsrQueryIntegration({ router, queryClient: context.queryClient })

  return router
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof getRouter>
  }
}
`,
  },
]
