import { createElement, Fragment, type ReactNode, useMemo, useSyncExternalStore } from 'react'
import { type AuthQueryClient, AuthReactContext, sharedBy } from './auth-context.ts'
import type { HookClient } from './hook-client.ts'

export interface AuthProviderProps {
  /** From `createAuthClient`; the same one on every render. */
  readonly client: HookClient
  /** The app's `QueryClient`, cleared when the user changes. */
  readonly queryClient?: AuthQueryClient
  readonly children?: ReactNode
}

/**
 * Provides the auth state to the hooks and components below it. When the user changes, it clears the query client
 * first and then remounts everything below: no data, state, or ref of the former user is left.
 *
 * @example <AuthProvider client={authClient} queryClient={queryClient}><App /></AuthProvider>
 */
export function AuthProvider({ client, queryClient, children }: AuthProviderProps): ReactNode {
  const shared = sharedBy(client)
  const state = useSyncExternalStore(client.subscribe, client.getState, client.getServerState)
  // Before anything below renders, also if the user changed while no provider was mounted.
  if (queryClient) followUser(queryClient, { userChanges: state.userChanges, seen: shared.seen })
  const value = useMemo(() => ({ client, state, ...shared }), [client, state, shared])
  const content = createElement(Fragment, { key: state.userChanges }, children)
  return createElement(AuthReactContext, { value }, content)
}

/** Clears a query client if the user has changed, so nothing in flight lands in its caches. */
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
