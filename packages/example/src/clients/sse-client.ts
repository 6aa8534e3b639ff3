import type { AuthClient } from '@sallyport/trpc/client'
import { authLink, subscriptionLink } from '@sallyport/trpc/client'
import { createTRPCClient } from '@trpc/client'
import { EventSource } from 'eventsource'
import type { AppRouter } from '../routers/app.ts'

/**
 * A client that subscribes by server-sent events, for networks without WebSockets. Browsers have
 * `EventSource`.
 */
export function createSseClient(baseUrl: string, authClient: AuthClient) {
  return createTRPCClient<AppRouter>({
    links: [authLink(authClient), subscriptionLink(authClient, { url: `${baseUrl}/trpc`, EventSource })],
  })
}
