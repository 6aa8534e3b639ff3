import { authAwareRetry, authAwareRetryDelay } from '@sallyport/trpc/client'
import { QueryClient } from '@tanstack/react-query'

export const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: { staleTime: 30_000, retry: authAwareRetry, retryDelay: authAwareRetryDelay },
    },
  })
