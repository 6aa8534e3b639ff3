import { Activity } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { createApp } from './create-app.tsx'

const log: string[] = []
const { fetch } = window
window.fetch = (input, init) => {
  if (init?.method === 'POST') log.push(`sent: ${input}`)
  return fetch(input, init)
}
const { authClient, queryClient, element, island } = createApp({ log })

// Subscribes before any other listener.
authClient.subscribe(() => {
  const { status, error } = authClient.getState()
  const line = `state: ${status}${error === null ? '' : `, ${error.code}`}`
  if (log.findLast((entry) => entry.startsWith('state')) !== line) log.push(line)
})
const { cancelQueries, clear } = queryClient
queryClient.cancelQueries = (...args) => {
  log.push('cancelled')
  return cancelQueries.apply(queryClient, args)
}
queryClient.clear = () => {
  log.push('removed')
  clear.call(queryClient)
}
const { close: disconnect } = WebSocket.prototype
WebSocket.prototype.close = function (...args) {
  if (this.readyState === WebSocket.OPEN) log.push('disconnected')
  disconnect.apply(this, args)
}

let roots: Root[] = []

/** Renders both trees. */
export function open(): void {
  roots = [element, island].map((tree) => {
    const root = createRoot(document.body.appendChild(document.createElement('div')))
    root.render(tree)
    return root
  })
}

/** Unmounts both trees. The caches stay. */
export function close(): void {
  for (const root of roots) root.unmount()
}

/** Shows or hides both trees. The first call mounts them again. */
export function show(mode: 'visible' | 'hidden'): void {
  for (const [i, tree] of [element, island].entries())
    roots[i]?.render(<Activity mode={mode}>{tree}</Activity>)
}

open()

/** Returns the events since the last call, in order. */
export const takeLog = (): string[] => log.splice(0)

/** Returns the data in the caches. */
export const cached = (): unknown[] => [
  ...queryClient
    .getQueryCache()
    .getAll()
    .map(({ state }) => state.data),
  ...queryClient
    .getMutationCache()
    .getAll()
    .map(({ state }) => state.status),
]

export async function signIn(email: string, password: string): Promise<void> {
  await authClient.api.signInEmail({ email, password })
}
