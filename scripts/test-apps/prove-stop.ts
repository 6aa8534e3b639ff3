import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { fetchAs } from './fetch-as.ts'

interface StoppableServer extends AsyncDisposable {
  readonly origin: string
  readonly pid: number
}

/** Stops a server during a subscription, which must end: the server waits for open responses. */
export async function proveStop(server: StoppableServer, trpcPath = '/api/trpc'): Promise<void> {
  const { origin, pid } = server
  const user = { email: 'edith@example.com', password: 'a long enough password', name: 'Edith' }
  const browser = await fetchAs(origin, user)
  const headers = { accept: 'text/event-stream' }
  const ticks = await browser.fetch(`${origin}${trpcPath}/ticks`, { headers })
  const stopped = Promise.all([ticks.text(), server[Symbol.asyncDispose]()])
  const [events] = await Promise.race([stopped, delay(20_000, [null])])
  if (events === null) process.kill(pid, 'SIGKILL')
  assert.match(events ?? 'The server is still running', /SESSIONS_UNAVAILABLE/)
}
