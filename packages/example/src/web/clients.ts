import { authAwareRetry, authLink, createAuthClient, webSocketLink } from '@sallyport/trpc/client'
import { useAuth } from '@sallyport/trpc/react'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { QueryClient } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import type { auth } from '../auth-server.ts' // the type alone; nothing of the server is bundled
import type { AppRouter } from '../routers/app.ts'

/** In the browser once, on the server for each page. */
export function createClients(state: HydrationState) {
  const authClient = createAuthClient<typeof auth.api>({ hydrate: state })
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
      // What has come with the page is not fetched again at once.
      queries: { staleTime: 30_000, ...authAwareRetry },
      // Without a connection they fail and say so; by default they would wait for one.
      mutations: { networkMode: 'always' },
    },
  })

export const { TRPCProvider, useTRPC, useTRPCClient } = createTRPCContext<AppRouter>()

/** `useAuth` with the endpoints of this app. */
export const useAppAuth = useAuth<Clients['authClient']>

/** Whether the server rejects this user until a ban is lifted. */
export const useIsBanned = (): boolean => useAppAuth().error?.code === 'ACCOUNT_BANNED'
