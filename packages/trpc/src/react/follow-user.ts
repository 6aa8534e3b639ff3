/** The part of TanStack's `QueryClient` that `followUser` uses. */
export interface AuthQueryClient {
  cancelQueries(): Promise<void>
  getMutationCache(): { getAll(): readonly { options: object }[] }
  clear(): void
}

/**
 * Clears a query client if the user has changed since the last call, so nothing in flight lands in its caches.
 *
 * @param options.seen the latest `userChanges` of each query client
 */
export function followUser(
  queryClient: AuthQueryClient,
  { userChanges, seen }: { userChanges: number; seen: WeakMap<AuthQueryClient, number> },
): void {
  const latest = seen.get(queryClient) ?? userChanges
  seen.set(queryClient, Math.max(userChanges, latest))
  if (userChanges <= latest) return
  void queryClient.cancelQueries()
  // Callbacks could restore what a mutation replaced, and a retry would run it for the next user.
  for (const mutation of queryClient.getMutationCache().getAll()) mutation.options = {}
  queryClient.clear()
}
