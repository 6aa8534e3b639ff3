import { createElement, Fragment, type ReactNode, useMemo, useSyncExternalStore } from 'react'
import { AuthReactContext } from './auth-context.ts'
import { type AuthQueryClient, followUser } from './follow-user.ts'
import type { HookClient } from './hook-client.ts'
import { sharedBy } from './shared-by.ts'

/** What {@link AuthProvider} takes. */
export interface AuthProviderProps {
  /** Made by `createAuthClient`; the same one for as long as the provider is there. */
  readonly client: HookClient
  /** The app's `QueryClient`, to be emptied when another user signs in or out. */
  readonly queryClient?: AuthQueryClient
  readonly children?: ReactNode
}

/**
 * Tells the hooks and components below it who is signed in. When that changes, the query client is emptied first, and then everything below
 * is built anew: no data, state or ref of the former user is left.
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
  // Before anything below is rendered, also where the user has changed while no provider was there.
  if (queryClient) followUser(queryClient, { userChanges: state.userChanges, seen: shared.seen })
  const value = useMemo(() => ({ client, state, ...shared }), [client, state, shared])
  return createElement(
    AuthReactContext,
    { value },
    createElement(Fragment, { key: state.userChanges }, children),
  )
}
