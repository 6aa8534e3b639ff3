import { authLink, bearer, createAuthClient, subscriptionLink, webSocketLink } from '@sallyport/trpc/client'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import { EventSource } from 'eventsource'
import type { auth } from './auth-server.ts'
import type { AppRouter } from './router.ts'
import { baseUrl } from './settings.ts'

/** Opens a program that keeps its tokens in memory. */
export function openClient() {
  const kept = new Map<string, string>()
  const storage = {
    getItem: (key: string) => kept.get(key),
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  }
  const authClient = createAuthClient<typeof auth.api>({ baseUrl, transport: bearer(storage) })
  const socket = webSocketLink<AppRouter>(authClient, { url: `${baseUrl.replace(/^http/, 'ws')}/trpc` })
  const events = subscriptionLink<AppRouter>(authClient, { url: `${baseUrl}/trpc`, EventSource })
  const http = httpBatchLink<AppRouter>({ url: `${baseUrl}/trpc`, fetch: authClient.fetch, maxItems: 20 })
  return {
    authClient,
    overHttp: createTRPCClient<AppRouter>({
      links: [
        authLink(authClient),
        splitLink({ condition: ({ type }) => type === 'subscription', true: events, false: http }),
      ],
    }),
    overSocket: createTRPCClient<AppRouter>({ links: [authLink(authClient), socket] }),
  }
}
