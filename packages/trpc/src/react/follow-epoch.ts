/** As much of TanStack's `QueryClient` as it takes to empty it when the user changes. */
export interface AuthQueryClient {
  cancelQueries(): Promise<void>
  getMutationCache(): { getAll(): readonly { options: object }[] }
  clear(): void
}

/**
 * Empties a query client where the epoch is a later one than the last time.
 *
 * @param options.epochs what has been seen of each query client
 */
export function followEpoch(
  queryClient: AuthQueryClient,
  { epoch, epochs }: { epoch: number; epochs: WeakMap<AuthQueryClient, number> },
): void {
  const latest = epochs.get(queryClient) ?? epoch
  epochs.set(queryClient, Math.max(epoch, latest))
  if (epoch > latest) forgetUser(queryClient)
}

/**
 * Removes all that the caches of a query client hold, so that nothing which is still on its way lands in them: queries are cancelled, and
 * mutations lose their callbacks, which might put back what they had replaced, and their function, which a retry would call for the next
 * user.
 */
function forgetUser(queryClient: AuthQueryClient): void {
  void queryClient.cancelQueries()
  for (const mutation of queryClient.getMutationCache().getAll()) mutation.options = {}
  queryClient.clear()
}
