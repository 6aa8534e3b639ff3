import assert from 'node:assert/strict'
import { fetchAs } from './fetch-as.ts'
import type { Server } from './serve.ts'

/** Stops a server during a subscription, which must end: the server waits for open responses. */
export async function proveStop(server: Server, trpcPath = '/api/trpc'): Promise<void> {
  const { origin } = server
  const user = { email: 'edith@example.com', password: 'a long enough password', name: 'Edith' }
  const browser = await fetchAs(origin, user)
  const headers = { accept: 'text/event-stream' }
  const ticks = await browser.fetch(`${origin}${trpcPath}/ticks`, { headers })
  const [events] = await Promise.all([ticks.text(), server[Symbol.asyncDispose]()])
  assert.match(events, /SESSIONS_UNAVAILABLE/)
}
