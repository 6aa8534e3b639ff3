import { authLink, webSocketLink } from '@sallyport/trpc/client'
import { createTRPCClient, httpBatchLink, splitLink } from '@trpc/client'
import { authClient } from './auth-client.ts'
import type { AppRouter } from './router.ts'

const url = () => `${location.origin.replace(/^http/, 'ws')}/trpc`

export const trpc = createTRPCClient<AppRouter>({
  links: [
    authLink(authClient),
    splitLink({
      condition: ({ type }) => type === 'subscription',
      true: webSocketLink(authClient, { url }),
      false: httpBatchLink({ url: '/trpc', fetch: authClient.fetch, maxItems: 20 }),
    }),
  ],
})
