import type { AuthClient } from '@sallyport/trpc/client'
import { authLink, subscriptionLink } from '@sallyport/trpc/client'
import { createTRPCClient } from '@trpc/client'
import { EventSource } from 'eventsource'
import type { AppRouter } from '../routers/app.ts'

/** Subscribes by server-sent events, for a network without WebSockets. A page needs no `EventSource` of a package. */
export function createSseClient(baseUrl: string, authClient: AuthClient) {
  return createTRPCClient<AppRouter>({
    links: [authLink(authClient), subscriptionLink(authClient, { url: `${baseUrl}/trpc`, EventSource })],
  })
}
