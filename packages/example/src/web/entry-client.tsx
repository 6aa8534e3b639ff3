import '@radix-ui/themes/styles.css'
import './app.css'
import { hydrate } from '@tanstack/react-query'
import { hydrateRoot } from 'react-dom/client'
import { BrowserRouter } from 'react-router'
import { App } from './app.tsx'
import { createClients, createQueryClient } from './clients.ts'
import type { Rendered } from './entry-server.tsx'

const [root, data] = ['root', 'rendered'].map((id) => document.getElementById(id))
const { state, queries }: Rendered = JSON.parse(data?.textContent ?? '')
// Nobody else needs to read it, least of all when this user has signed out.
data?.remove()

const queryClient = createQueryClient()
hydrate(queryClient, queries)
if (root)
  hydrateRoot(
    root,
    <BrowserRouter>
      <App {...createClients(state)} queryClient={queryClient} />
    </BrowserRouter>,
  )
