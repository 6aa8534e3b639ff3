import type { Auth, AuthDefinition } from '@sallyport/core/auth'
import {
  authAwareRetry,
  authAwareRetryDelay,
  authLink,
  createAuthClient,
  subscriptionLink,
  webSocketLink,
} from '@sallyport/trpc/client'
import { QueryClient } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { EventSource } from 'eventsource'
import { WebSocket } from 'ws'
import type authDefinition from './auth.ts'
import { holds, type Same } from './same.ts'

type ApiOf<Definition> = Definition extends AuthDefinition<infer Plugins> ? Auth<Plugins>['api'] : never

/** Clients of any API go. */
const authClient = createAuthClient<ApiOf<typeof authDefinition>>({
  routes: {
    addNote: { method: 'POST', path: '/notes/add' },
    countNotes: { method: 'GET', path: '/notes/count' },
  },
})
const anyClient = createAuthClient()

const t = initTRPC.create()
const router = t.router({
  hello: t.procedure.query(() => 'hello'),
  ticks: t.procedure.subscription(async function* () {
    yield 1
  }),
})
const ofDates = initTRPC.create({ transformer: { serialize: String, deserialize: String } })
const datesRouter = ofDates.router({ hello: ofDates.procedure.query(() => 'hello') })

/** The links among tRPC's own. */
export async function callOverHttp(): Promise<void> {
  const client = createTRPCClient<typeof router>({
    links: [
      authLink(authClient),
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: subscriptionLink(authClient, { url: '/trpc', EventSource }),
        false: httpBatchLink({ url: '/trpc', fetch: authClient.fetch }),
      }),
    ],
  })
  const hello = await client.hello.query()
  holds<Same<typeof hello, string>>()
  client.ticks.subscribe(undefined, { onData: (tick) => holds<Same<typeof tick, number>>() })
}

/** A socket, with any option of tRPC's but those for credentials. */
export function callOverWebSocket() {
  const url = 'wss://app.example.com/trpc'
  const NodeSocket: unknown = WebSocket
  // @ts-expect-error tokens are the link's own business
  webSocketLink<typeof router>(anyClient, { url, connectionParams: { token: 'x' } })
  // @ts-expect-error a URL would end in logs
  subscriptionLink<typeof router>(anyClient, { url, connectionParams: { token: 'x' } })
  // @ts-expect-error the router has a transformer
  webSocketLink<typeof datesRouter>(anyClient, { url })
  // @ts-expect-error the router has a transformer
  subscriptionLink<typeof datesRouter>(anyClient, { url })
  // @ts-expect-error what has no session is no auth client
  authLink({})
  createTRPCClient<typeof datesRouter>({
    links: [
      authLink(anyClient),
      webSocketLink(anyClient, { url, transformer: { serialize: String, deserialize: String } }),
    ],
  })
  return createTRPCClient<typeof router>({
    links: [
      authLink(anyClient),
      webSocketLink(anyClient, {
        url: async () => url,
        WebSocket: NodeSocket as typeof globalThis.WebSocket,
        lazy: { enabled: true, closeMs: 1_000 },
      }),
    ],
  })
}

/** The retries of TanStack Query, for all queries or for one. */
export function queries() {
  const queryClient = new QueryClient({
    defaultOptions: { queries: { retry: authAwareRetry, retryDelay: authAwareRetryDelay } },
  })
  const client = createTRPCClient<typeof router>({
    links: [authLink(authClient), httpBatchLink({ url: '/trpc' })],
  })
  const trpc = createTRPCOptionsProxy<typeof router>({ client, queryClient })
  return trpc.hello.queryOptions(undefined, { retry: authAwareRetry, retryDelay: authAwareRetryDelay })
}
