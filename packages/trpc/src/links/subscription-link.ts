import { httpSubscriptionLink, type TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { clientSession } from '../client/client-session.ts'
import type { LinkClient } from './link-client.ts'
import { rejectOnServer } from './reject-on-server.ts'

type AnyEventSource = NonNullable<Parameters<typeof httpSubscriptionLink>[0]['EventSource']>

/** Options of {@link subscriptionLink}: those of `httpSubscriptionLink`, except the credentials. */
export type SubscriptionLinkOptions<Router extends AnyTRPCRouter> = Omit<
  Parameters<typeof httpSubscriptionLink<Router, AnyEventSource>>[0],
  'connectionParams' | 'eventSourceOptions'
>

/**
 * Creates a link for subscriptions over server-sent events. Put it behind {@link authLink}, which reconnects
 * with fresh credentials. A browser's `EventSource` sends only cookies. With bearer transport, pass one that
 * takes a `fetch`, such as the one of the package `eventsource`. On a server, subscriptions fail with
 * `TOKEN_MISSING`.
 *
 * @throws TypeError if bearer transport has no `EventSource` option
 * @example
 * splitLink({
 *   condition: ({ type }) => type === 'subscription',
 *   true: subscriptionLink(authClient, { url: '/trpc' }),
 *   false: httpBatchLink({ url: '/trpc', fetch: authClient.fetch, maxItems: 20 }),
 * })
 */
export function subscriptionLink<Router extends AnyTRPCRouter>(
  { [clientSession]: { server, tokens }, fetch }: LinkClient,
  options: SubscriptionLinkOptions<Router>,
): TRPCLink<Router> {
  if (server) return () => rejectOnServer
  tokens?.check(options.EventSource)
  return httpSubscriptionLink<Router, AnyEventSource>({
    ...options,
    eventSourceOptions: { withCredentials: true, fetch },
  } as Parameters<typeof httpSubscriptionLink<Router, AnyEventSource>>[0])
}
