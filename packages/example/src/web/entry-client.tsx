import '@radix-ui/themes/styles.css'
import './app.css'
import { hydrate, notifyManager } from '@tanstack/react-query'
import { hydrateRoot } from 'react-dom/client'
import { BrowserRouter } from 'react-router'
import { App } from './app.tsx'
import { createClients, createQueryClient } from './clients.ts'
import type { Rendered } from './rendered.ts'

const [root, data] = ['root', 'rendered'].map((id) => document.getElementById(id))
const rendered: Rendered = JSON.parse(data?.textContent ?? '')
// The data of this user must not stay in the document after they sign out.
data?.remove()

// A slow device handles the second click of a double click before a timer, but after a microtask. So the
// button is pending by then, and nothing is sent twice.
notifyManager.setScheduler(queueMicrotask)

const queryClient = createQueryClient()
hydrate(queryClient, rendered.queries)
if (root)
  hydrateRoot(
    root,
    <BrowserRouter>
      <App {...createClients(rendered.state)} queryClient={queryClient} rendered={rendered} />
    </BrowserRouter>,
  )
