import { hydrate } from '@tanstack/react-query'
import { hydrateRoot } from 'react-dom/client'
import { App, createClients, Providers } from './app.tsx'
import type { Rendered } from './pages.tsx'
import { createQueryClient } from './query-client.ts'

const [root, data] = ['root', 'rendered'].map((id) => document.getElementById(id))
const { state, queries }: Rendered = JSON.parse(data?.textContent ?? '')
data?.remove() // The user's data must not stay after a sign-out.

const queryClient = createQueryClient()
hydrate(queryClient, queries)
const app = (
  <Providers {...createClients(state)} queryClient={queryClient}>
    <App />
  </Providers>
)
if (root) hydrateRoot(root, app)
