import type { Reason } from '@sallyport/core'
import type { TestSession } from '@sallyport/core/testing'
import { expect } from 'vitest'
import { type Client, callerFor, connectHttp, connectWebSocket } from './connect.ts'
import type { TestServer } from './start-server.ts'
import { openStream, readStream, type Stream } from './stream.ts'
import { browser } from './visitor.ts'

export type Procedure = Extract<
  keyof Client,
  | 'clock'
  | 'parsedClock'
  | 'observableClock'
  | 'trackedClock'
  | 'sensitiveClock'
  | 'adminClock'
  | 'sensitiveAdminClock'
  | 'paymentClock'
  | 'doublyGuardedClock'
  | 'optionalClock'
  | 'lateClock'
  | 'deaf'
  | 'stubborn'
  | 'clumsy'
  | 'short'
  | 'stillborn'
  | 'fragile'
  | 'orphaned'
  | 'orphanedObservable'
>
/** Opens a stream in a signed-in browser. */
export type Open = (server: TestServer, session: TestSession) => Promise<Stream>

export const overWebSocket =
  (procedure: Procedure): Open =>
  async (server, session) =>
    openStream(connectWebSocket(server, browser(session))[procedure])

export const overEvents =
  (adapter: 'node' | 'fetch', procedure: Procedure): Open =>
  async (server, session) => {
    const { client } = connectHttp(server, browser(session), `httpSubscriptionLink over ${adapter}`)
    return openStream(client[procedure])
  }

export const overJsonLines =
  (adapter: 'node' | 'fetch', procedure: 'streamed' | 'deafStreamed'): Open =>
  async (server, session) => {
    const { client } = connectHttp(server, browser(session), `httpBatchStreamLink over ${adapter}`)
    const page = new AbortController()
    const answer = await client[procedure].query(undefined, { signal: page.signal })
    return readStream(answer, () => page.abort())
  }

/** Every kind of stream, over every transport that supports it. */
export const STREAMS: { stream: string; open: Open }[] = [
  { stream: 'a clock over WebSocket', open: overWebSocket('clock') },
  { stream: 'a clock over server-sent events, Node adapter', open: overEvents('node', 'clock') },
  { stream: 'a clock over server-sent events, fetch adapter', open: overEvents('fetch', 'clock') },
  { stream: 'a streamed query, Node adapter', open: overJsonLines('node', 'streamed') },
  { stream: 'a streamed query, fetch adapter', open: overJsonLines('fetch', 'streamed') },
  {
    stream: 'a clock of the server itself',
    async open(server, session) {
      const iterable = await callerFor(server, browser(session)).clock()
      return readStream(iterable, () => void iterable[Symbol.asyncIterator]().return?.())
    },
  },
  { stream: 'an observable over WebSocket', open: overWebSocket('observableClock') },
  { stream: 'an observable over server-sent events', open: overEvents('node', 'observableClock') },
  { stream: 'tracked() over WebSocket', open: overWebSocket('trackedClock') },
  { stream: 'tracked() over server-sent events', open: overEvents('fetch', 'trackedClock') },
  { stream: 'a clock behind sensitiveSessionMiddleware', open: overWebSocket('sensitiveClock') },
  { stream: 'a clock behind two session middlewares', open: overWebSocket('doublyGuardedClock') },
  { stream: '.output() over WebSocket', open: overWebSocket('parsedClock') },
  { stream: '.output() over server-sent events', open: overEvents('node', 'parsedClock') },
]

/** Signs a user in and waits for the start of a stream. */
export async function begin(
  server: TestServer,
  open: Open,
): Promise<{ session: TestSession; stream: Stream }> {
  const session = await server.auth.signIn()
  const stream = await open(server, session)
  expect((await stream.first).rejection).toBeNull()
  return { session, stream }
}

/** Checks that the guard ended a stream after its resolver had run. */
export function expectEnd(rejection: Awaited<Stream['ended']>, reason: Reason): void {
  expect(rejection?.auth).toMatchObject({ reason, replay: false })
}
