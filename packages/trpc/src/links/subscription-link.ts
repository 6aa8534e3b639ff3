import { httpSubscriptionLink, type TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import type { AuthClient } from '../client/auth-client.ts'
import { clientSession } from '../client/client-session.ts'

/** What a class of event sources has to have, for tRPC. */
type AnyEventSource = NonNullable<Parameters<typeof httpSubscriptionLink>[0]['EventSource']>

/** What {@link subscriptionLink} takes: what `httpSubscriptionLink` does, but for the credentials. */
export type SubscriptionLinkOptions<Router extends AnyTRPCRouter> = Omit<
  Parameters<typeof httpSubscriptionLink<Router, AnyEventSource>>[0],
  'connectionParams' | 'eventSourceOptions'
>

/**
 * Subscriptions over server-sent events, behind {@link authLink}, with tRPC's `httpSubscriptionLink`. Each connection is made with fresh
 * cookies or a fresh token: one that is lost is not made again by the event source, which would do so every few seconds and with what it
 * had, but by `authLink`.
 *
 * The browser's own `EventSource` sends cookies and nothing else, so bearer transport needs one that takes a `fetch`, such as that of the
 * package `eventsource`.
 *
 * @throws TypeError where there is none
 * @example
 * splitLink({
 *   condition: ({ type }) => type === 'subscription',
 *   true: subscriptionLink(authClient, { url: '/trpc' }),
 *   false: httpBatchLink({ url: '/trpc', fetch: authClient.fetch }),
 * })
 */
export function subscriptionLink<Router extends AnyTRPCRouter>(
  authClient: Pick<AuthClient, 'fetch' | typeof clientSession>,
  options: SubscriptionLinkOptions<Router>,
): TRPCLink<Router> {
  if (authClient[clientSession].tokens && !options.EventSource)
    throw new TypeError('Bearer transport needs an EventSource that takes a fetch')
  return httpSubscriptionLink<Router, AnyEventSource>({
    ...options,
    eventSourceOptions: { withCredentials: true, fetch: authClient.fetch },
  } as Parameters<typeof httpSubscriptionLink<Router, AnyEventSource>>[0])
}
