import type { TestAuth } from '@sallyport/core/testing'
import { authLink, createAuthClient } from '@sallyport/trpc/client'
import { AuthProvider, SignedIn, useAuth } from '@sallyport/trpc/react'
import { QueryClient, QueryClientProvider, useSuspenseQuery } from '@tanstack/react-query'
import { createTRPCClient, httpLink } from '@trpc/client'
import { type ReactNode, Suspense, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import type { AppRouter } from '../../support/router.ts'

const authClient = createAuthClient<TestAuth['api']>()
const queryClient = new QueryClient()
const trpc = createTRPCClient<AppRouter>({
  links: [authLink(authClient), httpLink({ url: '/trpc', fetch: authClient.fetch })],
})
const running: (string | null)[] = []

function Me(): ReactNode {
  const { userId } = useAuth()
  const { data } = useSuspenseQuery({ queryKey: ['me'], queryFn: () => trpc.slow.query() })
  useEffect(() => {
    running.push(userId)
    return () => void running.splice(running.indexOf(userId), 1)
  }, [userId])
  return <p id="me">{data}</p>
}

const app = (
  <AuthProvider client={authClient} queryClient={queryClient}>
    <SignedIn>
      <Me />
    </SignedIn>
  </AuthProvider>
)
createRoot(document.body.appendChild(document.createElement('div'))).render(
  <QueryClientProvider client={queryClient}>
    {location.pathname === '/bare' ? app : <Suspense fallback="One moment">{app}</Suspense>}
  </QueryClientProvider>,
)

/** Returns the users whose effects run. */
export const effects = (): (string | null)[] => running

export async function signIn(email: string, password: string): Promise<void> {
  await authClient.api.signInEmail({ email, password })
}
