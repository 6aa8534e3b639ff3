/** The part of a TanStack `QueryClient` that prefetching uses. */
export interface PrefetchQueryClient {
  fetchQuery(options: PrefetchOptions): Promise<unknown>
  fetchInfiniteQuery(options: PrefetchOptions & { readonly initialPageParam: unknown }): Promise<unknown>
  removeQueries(filters: { readonly queryKey: readonly unknown[]; readonly exact: true }): void
  clear(): void
}

/** What `queryOptions` and `infiniteQueryOptions` return. */
export interface PrefetchOptions {
  readonly queryKey: readonly unknown[]
}

/** Fetches into the query client, without the retries that an app uses in browsers: they would delay the page. */
export function fetchInto(queryClient: PrefetchQueryClient, options: PrefetchOptions): Promise<unknown> {
  const once = { ...options, retry: false }
  return 'initialPageParam' in once ? queryClient.fetchInfiniteQuery(once) : queryClient.fetchQuery(once)
}
