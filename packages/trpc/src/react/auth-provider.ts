import type { ReactNode } from 'react'
import {
  createContext,
  createElement,
  useContext,
  useLayoutEffect,
  useState,
  useSyncExternalStore,
} from 'react'
import type { AuthState } from '../client/session-state.ts'
import type { HookClient } from './current-session.ts'

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
  const state = useSyncExternalStore(client.subscribe, client.getState, client.getServerState)
  // Before anything below renders, also if the user changed while no provider was mounted.
  if (queryClient) followUserOf(client)(queryClient, state.userChanges)
  const [value, show] = useState({ client, state })
  useLayoutEffect(() => {
    // A state object belongs to one client. In a tree that was hidden, `state` may be outdated.
    if (value.state !== client.getState()) show({ client, state })
  })
  // Unmounts everything first. Otherwise, React keeps the former user's tree while the next one suspends.
  return createElement(AuthReactContext, { value }, value.state.userChanges === state.userChanges && children)
}

interface AuthContextValue {
  readonly client: HookClient
  readonly state: AuthState
}

const AuthReactContext = createContext({} as AuthContextValue)

let isDevelopment = false
try {
  // Written so bundlers can replace the expression and drop the text from production code.
  if (process.env.NODE_ENV !== 'production') isDevelopment = true
} catch {
  // Browsers have no `process`.
}

export function useAuthContext(): AuthContextValue {
  const value = useContext(AuthReactContext)
  if (isDevelopment && !value.client) throw new Error('Wrap this in <AuthProvider>')
  return value
}

/** Returns a function that calls `create` once for each client, so several React trees share its result. */
export function oncePerClient<Shared>(
  create: (client: HookClient) => Shared,
): (client: HookClient) => Shared {
  const created = new WeakMap<HookClient, Shared>()
  return (client) => {
    const shared = created.get(client) ?? create(client)
    created.set(client, shared)
    return shared
  }
}

const followUserOf = oncePerClient(createFollower)

/** Creates a function that clears a query client after a change of the user. */
export function createFollower(): (queryClient: AuthQueryClient, userChanges: number) => void {
  /** `userChanges` of the data in each query client. */
  const seen = new WeakMap<AuthQueryClient, number>()
  return (queryClient, userChanges) => {
    const latest = seen.get(queryClient) ?? userChanges
    seen.set(queryClient, Math.max(userChanges, latest))
    if (userChanges <= latest) return
    void queryClient.cancelQueries()
    // Callbacks could restore what a mutation replaced, and a retry would run it for the next user.
    for (const mutation of queryClient.getMutationCache().getAll()) mutation.options = {}
    queryClient.clear()
  }
}
