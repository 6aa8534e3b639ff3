import { createTRPCClient, createWSClient, httpBatchLink, splitLink, wsLink } from '@trpc/client'
import type { AppRouter } from './router.ts'

const client = createWSClient({ url: () => `${location.origin.replace(/^http/, 'ws')}/trpc` })

export const trpc = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: ({ type }) => type === 'subscription',
      true: wsLink({ client }),
      false: httpBatchLink({ url: '/trpc' }),
    }),
  ],
})
