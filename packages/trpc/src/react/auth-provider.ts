import { createElement, Fragment, type ReactNode, useMemo, useSyncExternalStore } from 'react'
import { AuthReactContext, sharedBy } from './auth-context.ts'
import { type AuthQueryClient, followUser } from './follow-user.ts'
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
 * @example
 * <QueryClientProvider client={queryClient}>
 *   <AuthProvider client={authClient} queryClient={queryClient}>
 *     <App />
 *   </AuthProvider>
 * </QueryClientProvider>
 */
export function AuthProvider({ client, queryClient, children }: AuthProviderProps): ReactNode {
  const shared = sharedBy(client)
  const state = useSyncExternalStore(client.subscribe, client.getState, client.getServerState)
  // Before anything below renders, also if the user changed while no provider was mounted.
  if (queryClient) followUser(queryClient, { userChanges: state.userChanges, seen: shared.seen })
  const value = useMemo(() => ({ client, state, ...shared }), [client, state, shared])
  return createElement(
    AuthReactContext,
    { value },
    createElement(Fragment, { key: state.userChanges }, children),
  )
}
