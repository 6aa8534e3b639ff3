import { createTRPCClient, createWSClient, httpBatchLink, httpSubscriptionLink, wsLink } from '@trpc/client'
import { EventSource } from 'eventsource'
import { onTestFinished } from 'vitest'
import { socketWith } from '../support/connect.ts'
import { cookieFetch } from '../support/cookie-fetch.ts'
import { ORIGIN } from '../support/visitor.ts'
import type { AppRouter } from './router.ts'

/** A server's host and port. */
export type Host = `localhost:${number}`

let visitors = 0

/** Opens a separate browser behind a proxy, on a page of the app. */
export function openVisitor(host: Host, { cookie = '' } = {}) {
  const address = `203.0.113.${++visitors}`
  const sent = { origin: ORIGIN, 'x-forwarded-for': address }
  const jar = cookieFetch(sent, cookie)
  const fetchAs = (
    input: RequestInfo | URL,
    { signal, ...init }: Omit<RequestInit, 'signal'> & { signal?: AbortSignal | null | undefined } = {},
  ) => jar.fetch(input, { ...init, signal: signal ?? null })
  const url = `http://${host}/trpc`

  return {
    address,
    fetch: (path: string, init?: RequestInit) => fetchAs(`http://${host}${path}`, init),
    post: (path: string, body: object, headers: Record<string, string> = {}) =>
      fetchAs(`http://${host}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    client: createTRPCClient<AppRouter>({ links: [httpBatchLink({ url, fetch: fetchAs })] }),
    overEvents: () =>
      createTRPCClient<AppRouter>({
        links: [httpSubscriptionLink({ url, EventSource, eventSourceOptions: () => ({ fetch: fetchAs }) })],
      }),
    overWebSocket() {
      const socket = createWSClient({
        url: `ws://${host}/trpc`,
        WebSocket: socketWith({ ...sent, cookie: jar.header() }),
        retryDelayMs: () => 60_000,
      })
      onTestFinished(() => void socket.close())
      return createTRPCClient<AppRouter>({ links: [wsLink({ client: socket })] })
    },
  }
}

/** The state of a subscription. */
export interface Followed {
  /** Resolves with the first value. */
  readonly begun: Promise<unknown>
  /** The reason of the error that ended the subscription. */
  readonly ended: Promise<string | undefined>
  unsubscribe(): void
}

/** Subscribes to the clock. */
export function follow({ clock }: Pick<ReturnType<typeof createTRPCClient<AppRouter>>, 'clock'>): Followed {
  const begun = Promise.withResolvers<unknown>()
  const ended = Promise.withResolvers<string | undefined>()
  const { unsubscribe } = clock.subscribe(undefined, {
    onData: begun.resolve,
    onError(error) {
      ended.resolve(error.data?.auth?.reason)
      begun.reject(error)
    },
  })
  onTestFinished(unsubscribe)
  return { begun: begun.promise, ended: ended.promise, unsubscribe }
}
