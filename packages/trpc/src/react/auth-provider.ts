import type { ReactNode } from 'react'
import { createContext, createElement, Fragment, useContext, useMemo, useSyncExternalStore } from 'react'
import type { AuthState } from '../client/session-state.ts'
import { type Confirmation, createConfirmation } from './confirmation.ts'
import { type CurrentSession, createCurrentSession, type HookClient } from './current-session.ts'

/** The part of TanStack's `QueryClient` that `AuthProvider` uses. */
export interface AuthQueryClient {
  cancelQueries(): Promise<void>
  getMutationCache(): { getAll(): readonly { options: object }[] }
  clear(): void
}

export interface AuthProviderProps {
  /** The client of `createAuthClient`: the same one on every render. */
  readonly client: HookClient
  /** The app's `QueryClient`, cleared when the user changes. */
  readonly queryClient?: AuthQueryClient
  readonly children?: ReactNode
}

/**
 * Provides the auth state to the hooks and components below it. When the user changes, it clears the query
 * client and remounts everything below, so no data, state, or ref of the former user is left.
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

interface AuthContextValue extends Shared {
  readonly client: HookClient
  readonly state: AuthState
}

const AuthReactContext = createContext<AuthContextValue | null>(null)

export function useAuthContext(): AuthContextValue {
  const value = useContext(AuthReactContext)
  if (value === null) throw new Error('Wrap this in <AuthProvider>')
  return value
}

/** The state of one client, so several React trees share the fetched session and the dialog. */
interface Shared {
  readonly currentSession: CurrentSession
  readonly confirmation: Confirmation
  /** `userChanges` of the data in each query client. */
  readonly seen: WeakMap<AuthQueryClient, number>
}

const sharedByClient = new WeakMap<HookClient, Shared>()

function sharedBy(client: HookClient): Shared {
  const shared = sharedByClient.get(client) ?? {
    currentSession: createCurrentSession(client),
    confirmation: createConfirmation(client),
    seen: new WeakMap(),
  }
  sharedByClient.set(client, shared)
  return shared
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
