import { authAwareRetry } from '@sallyport/trpc/client'
import { QueryClient } from '@tanstack/react-query'

// With a `staleTime`, the browser doesn't fetch again what came with the page.
export const createQueryClient = () =>
  new QueryClient({ defaultOptions: { queries: { staleTime: 30_000, ...authAwareRetry } } })
