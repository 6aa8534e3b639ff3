import type { AuthState } from '../client/session-state.ts'
import { useAuthContext } from './auth-provider.ts'
import type { HookClient } from './current-session.ts'

export interface UseAuthResult<Client extends HookClient = HookClient> extends AuthState {
  readonly isAuthenticated: boolean
  readonly refresh: Client['refresh']
  /** Resolves when the server has confirmed or rejected it. Until then, the status is `signing-out`. */
  readonly signOut: Client['signOut']
  readonly client: Client
}

/**
 * Returns the auth state and its client. Pass the type of the client to call the endpoints of plugins.
 *
 * @example const { isAuthenticated, signOut } = useAuth<typeof authClient>()
 */
export function useAuth<Client extends HookClient = HookClient>(): UseAuthResult<Client> {
  const { client, state } = useAuthContext()
  return {
    ...state,
    isAuthenticated: state.status === 'authenticated',
    refresh: client.refresh,
    signOut: client.signOut,
    // Only the app knows the full type of the client that it passed to the provider.
    client: client as Client,
  }
}
