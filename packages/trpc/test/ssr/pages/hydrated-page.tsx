import { AuthProvider } from '@sallyport/trpc/react'
import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { Hydrated } from '../../types/next/app/user.tsx'
import { createClients } from '../hono/app.tsx'
import type { Rendered } from '../hono/pages.tsx'
import { createQueryClient } from '../hono/query-client.ts'

const text = document.getElementById('rendered')?.textContent ?? ''
const { state, queries }: Rendered = JSON.parse(text)
const { authClient } = createClients(state)
const queryClient = createQueryClient()
let mounted = 0

/** The content below the boundary. */
function Counted() {
  useQuery({ queryKey: ['never'], enabled: false })
  useEffect(() => {
    mounted++
  }, [])
  return <p>mounted</p>
}

createRoot(document.body.appendChild(document.createElement('div'))).render(
  <QueryClientProvider client={queryClient}>
    <AuthProvider client={authClient} queryClient={queryClient}>
      <Hydrated user={state} state={queries}>
        <Counted />
      </Hydrated>
    </AuthProvider>
  </QueryClientProvider>,
)

export const signOut = (): Promise<object> => authClient.signOut()

export const signIn = async (email: string, password: string): Promise<void> => {
  await authClient.api.signInEmail({ email, password })
}

/** Returns the cached data, the number of mounts, and the user. */
export const look = (): { data: string; mounted: number; userId: string | null } => {
  const data = queryClient.getQueryCache().getAll()
  return {
    data: JSON.stringify(data.map((query) => query.state.data)),
    mounted,
    userId: authClient.getState().userId,
  }
}
