'use client'

import { authLink, createAuthClient } from '@sallyport/trpc/client'
import { AuthLoading, AuthProvider, SignedIn, SignedOut, useAuth } from '@sallyport/trpc/react'
import type { HydrationState } from '@sallyport/trpc/ssr'
import { type QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import type { ReactNode } from 'react'
import type { auth } from './context.ts'
import type { AppRouter } from './router.ts'

const { TRPCProvider, useTRPC } = createTRPCContext<AppRouter>()

/** Call it once in the browser, and for each page on the server. */
export function createClients(state: HydrationState) {
  const authClient = createAuthClient<typeof auth.api>({ hydrate: state })
  const trpcClient = createTRPCClient<AppRouter>({
    links: [authLink(authClient), httpBatchLink({ url: '/trpc', fetch: authClient.fetch, maxItems: 20 })],
  })
  return { authClient, trpcClient }
}

interface ProvidersProps extends ReturnType<typeof createClients> {
  readonly queryClient: QueryClient
  readonly children: ReactNode
}

export function Providers({ authClient, trpcClient, queryClient, children }: ProvidersProps) {
  return (
    <QueryClientProvider client={queryClient}>
      <AuthProvider client={authClient} queryClient={queryClient}>
        <TRPCProvider trpcClient={trpcClient} queryClient={queryClient}>
          {children}
        </TRPCProvider>
      </AuthProvider>
    </QueryClientProvider>
  )
}

export function App() {
  return (
    <>
      <SignedIn>
        <Notes />
      </SignedIn>
      <SignedOut>Sign in</SignedOut>
      <AuthLoading>One moment</AuthLoading>
    </>
  )
}

function Notes() {
  const { signOut } = useAuth()
  const notes = useQuery(useTRPC().notes.list.queryOptions())
  return (
    <>
      {notes.data?.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
      <button type="button" onClick={signOut}>
        Sign out
      </button>
    </>
  )
}
