import { authAwareRetry, authLink, createAuthClient } from '@sallyport/trpc/client'
import { AuthLoading, AuthProvider, SignedIn, SignedOut, useAuth } from '@sallyport/trpc/react'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import type { auth } from './auth-server.ts'
import type { AppRouter } from './router.ts'

const { TRPCProvider, useTRPC } = createTRPCContext<AppRouter>()

/** In the browser once, on the server for each page. */
export function createClients(state: HydrationState) {
  const authClient = createAuthClient<typeof auth.api>({ hydrate: state })
  const trpcClient = createTRPCClient<AppRouter>({
    links: [authLink(authClient), httpBatchLink({ url: '/trpc', fetch: authClient.fetch, maxItems: 20 })],
  })
  return { authClient, trpcClient }
}

export const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      // What has come with the page is not fetched again at once.
      queries: { staleTime: 30_000, ...authAwareRetry },
    },
  })

export interface AppProps extends ReturnType<typeof createClients> {
  readonly queryClient: QueryClient
}

export function App({ authClient, trpcClient, queryClient }: AppProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <AuthProvider client={authClient} queryClient={queryClient}>
        <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
          <SignedIn>
            <Notes />
          </SignedIn>
          <SignedOut>Sign in</SignedOut>
          <AuthLoading>One moment</AuthLoading>
        </TRPCProvider>
      </AuthProvider>
    </QueryClientProvider>
  )
}

function Notes() {
  const { signOut } = useAuth()
  const trpc = useTRPC()
  const { data = [] } = useQuery(trpc.notes.list.queryOptions())
  return (
    <>
      {data.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </>
  )
}
