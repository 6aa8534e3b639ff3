import { authAwareRetry, authLink, createAuthClient, webSocketLink } from '@sallyport/trpc/client'
import { useAuth } from '@sallyport/trpc/react'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { QueryClient } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import type { auth } from '../auth-server.ts' // only the type: no server code is bundled
import type { AppRouter } from '../routers/app.ts'
import { trackedFetch } from './connection.ts'

/** Creates the clients: once in the browser, and for each page on the server. */
export function createClients(state: HydrationState) {
  const authClient = createAuthClient<typeof auth.api>({ hydrate: state, fetch: trackedFetch })
  const trpcClient = createTRPCClient<AppRouter>({
    links: [
      authLink(authClient),
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: webSocketLink(authClient, { url: () => `${location.origin.replace(/^http/, 'ws')}/trpc` }),
        false: httpBatchLink({ url: '/trpc', fetch: authClient.fetch, maxItems: 20 }),
      }),
    ],
  })
  return { authClient, trpcClient }
}

export type Clients = ReturnType<typeof createClients>

export const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      // Data that came with the page is fresh.
      queries: { staleTime: 30_000, ...authAwareRetry },
      // Fail at once without a connection. By default, mutations would wait for one.
      mutations: { networkMode: 'always' },
    },
  })

export const { TRPCProvider, useTRPC, useTRPCClient } = createTRPCContext<AppRouter>()

/** `useAuth` with the endpoints of this app. */
export const useAppAuth = useAuth<Clients['authClient']>

/** Returns whether the user is banned. */
export const useIsBanned = (): boolean => useAppAuth().error?.code === 'ACCOUNT_BANNED'
