import { authLink, subscriptionLink } from '@sallyport/trpc/client'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import { authClient } from './auth-client.ts'
import type { AppRouter } from './router.ts'

export const trpc = createTRPCClient<AppRouter>({
  links: [
    authLink(authClient),
    splitLink({
      condition: ({ type }) => type === 'subscription',
      true: subscriptionLink(authClient, { url: '/trpc' }),
      false: httpBatchLink({ url: '/trpc', fetch: authClient.fetch, maxItems: 20 }),
    }),
  ],
})
