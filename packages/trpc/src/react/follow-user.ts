/** As much of TanStack's `QueryClient` as it takes to empty it when the user changes. */
export interface AuthQueryClient {
  cancelQueries(): Promise<void>
  getMutationCache(): { getAll(): readonly { options: object }[] }
  clear(): void
}

/**
 * Empties a query client if the user has changed since the last time.
 *
 * @param options.seen the latest `userChanges` of each query client
 */
export function followUser(
  queryClient: AuthQueryClient,
  { userChanges, seen }: { userChanges: number; seen: WeakMap<AuthQueryClient, number> },
): void {
  const latest = seen.get(queryClient) ?? userChanges
  seen.set(queryClient, Math.max(userChanges, latest))
  if (userChanges > latest) forgetUser(queryClient)
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
