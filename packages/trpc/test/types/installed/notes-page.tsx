import { type AuthClient, authAwareRetry, createAuthClient } from '@sallyport/trpc/client'
import { AuthLoading, AuthProvider, SignedIn, SignedOut, useAuth, useSession } from '@sallyport/trpc/react'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import type { auth } from './auth-server.ts'
import type { AppRouter } from './router.ts'

type AppClient = AuthClient<typeof auth.api>
const { TRPCProvider, useTRPC } = createTRPCContext<AppRouter>()
const useAppAuth = useAuth<AppClient>
const useAppSession = useSession<AppClient>

export const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: { staleTime: 30_000, ...authAwareRetry },
    },
  })

/** Renders the page, in a browser and on a server. */
export function Page({ state, queryClient }: { state: HydrationState; queryClient: QueryClient }) {
  const authClient: AppClient = createAuthClient<typeof auth.api>({ hydrate: state })
  const trpcClient = createTRPCClient<AppRouter>({
    links: [httpBatchLink({ url: '/trpc', fetch: authClient.fetch })],
  })
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
  const { signOut, status } = useAppAuth()
  const { user } = useAppSession()
  const { data = [] } = useQuery(useTRPC().notes.queryOptions())
  return (
    <section lang={user?.locale}>
      {data.map(({ text }) => (
        <p key={text}>{text}</p>
      ))}
      <button type="button" onClick={() => void signOut()}>
        {status}
      </button>
    </section>
  )
}
