import { hydrate } from '@tanstack/react-query'
import { hydrateRoot } from 'react-dom/client'
import { App, createClients, createQueryClient } from './app.tsx'
import type { Rendered } from './pages.tsx'

const [root, data] = ['root', 'rendered'].map((id) => document.getElementById(id))
const { state, queries }: Rendered = JSON.parse(data?.textContent ?? '')
// Nobody else needs to read it, least of all when this user has signed out.
data?.remove()

const queryClient = createQueryClient()
hydrate(queryClient, queries)
if (root) hydrateRoot(root, <App {...createClients(state)} queryClient={queryClient} />)
