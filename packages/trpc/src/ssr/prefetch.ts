/** As much of a TanStack `QueryClient` as prefetching needs. */
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

/** Fetches into the query client, once: the attempts that an app allows its browsers would keep the page waiting. */
export function fetchInto(queryClient: PrefetchQueryClient, options: PrefetchOptions): Promise<unknown> {
  const once = { ...options, retry: false }
  return isInfinite(once) ? queryClient.fetchInfiniteQuery(once) : queryClient.fetchQuery(once)
}

function isInfinite<Options extends object>(
  options: Options,
): options is Options & { initialPageParam: unknown } {
  return 'initialPageParam' in options
}
