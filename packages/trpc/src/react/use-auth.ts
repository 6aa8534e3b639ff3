import type { AuthState } from '../client/session-state.ts'
import { useAuthContext } from './auth-context.ts'
import type { HookClient } from './hook-client.ts'

export interface UseAuthResult<Client extends HookClient = HookClient> extends AuthState {
  readonly isAuthenticated: boolean
  readonly refresh: Client['refresh']
  /** Resolves when the server has confirmed or rejected it. Until then, the status is `signing-out`. */
  readonly signOut: Client['signOut']
  readonly client: Client
}

/**
 * Returns the auth state and its client.
 *
 * @example export const useAppAuth = useAuth<typeof authClient> // with the types of the app's own endpoints
 */
export function useAuth<Client extends HookClient = HookClient>(): UseAuthResult<Client> {
  const { client, state } = useAuthContext()
  const isAuthenticated = state.status === 'authenticated'
  const { refresh, signOut } = client
  // Only the app knows the full type of the client that it passed to the provider.
  return { ...state, isAuthenticated, refresh, signOut, client: client as Client }
}
