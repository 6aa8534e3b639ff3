'use client'

import { authLink, createAuthClient } from '@sallyport/trpc/client'
import { AuthProvider, useAuth } from '@sallyport/trpc/react'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { type DehydratedState, HydrationBoundary, QueryClientProvider } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import { type ReactNode, useEffect } from 'react'
import type { auth } from '../auth-server.ts'
import { createQueryClient } from '../query-client.ts'
import type { AppRouter } from '../router.ts'

export const { TRPCProvider, useTRPC } = createTRPCContext<AppRouter>()

function createClients(state: HydrationState) {
  const authClient = createAuthClient<typeof auth.api>({ hydrate: state })
  const trpcClient = createTRPCClient<AppRouter>({
    links: [authLink(authClient), httpBatchLink({ url: '/trpc', fetch: authClient.fetch, maxItems: 20 })],
  })
  return { authClient, trpcClient, queryClient: createQueryClient() }
}

let inBrowser: ReturnType<typeof createClients> | undefined

/** On the server new ones for each page, in the browser the same ones for as long as the page is there. */
function getClients(state: HydrationState) {
  if (typeof window === 'undefined') return createClients(state)
  inBrowser ??= createClients(state)
  return inBrowser
}

export function Providers({ state, children }: { state: HydrationState; children: ReactNode }) {
  const { authClient, trpcClient, queryClient } = getClients(state)
  return (
    <QueryClientProvider client={queryClient}>
      <AuthProvider client={authClient} queryClient={queryClient}>
        <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
          <FollowUser />
          {children}
        </TRPCProvider>
      </AuthProvider>
    </QueryClientProvider>
  )
}

/** What the server rendered for one user is not kept for the next. */
function FollowUser() {
  const { userChanges } = useAuth()
  useEffect(() => {
    if (userChanges > 0) window.location.reload()
  }, [userChanges])
  return null
}

/** What was fetched for a page, while its user is the one that the page was rendered for. */
export function Hydrated({
  user,
  state,
  children,
}: {
  user: HydrationState
  state: DehydratedState
  children: ReactNode
}) {
  const { sessionId } = useAuth()
  const isTheirs = sessionId === (user.status === 'authenticated' ? user.sessionId : null)
  return <HydrationBoundary state={isTheirs ? state : undefined}>{children}</HydrationBoundary>
}
