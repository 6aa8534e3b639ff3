import type { AuthState } from '../client/auth-state.ts'
import { useAuthContext } from './auth-context.ts'
import type { HookClient } from './hook-client.ts'

/** What {@link useAuth} returns. */
export interface UseAuthResult<Client extends HookClient = HookClient> extends AuthState {
  /** False from the moment that the user asks to sign out. */
  readonly isAuthenticated: boolean
  /** Asks for a new JWT now. It happens by itself before one expires. */
  readonly refresh: Client['refresh']
  /** Resolves when the server has confirmed it, or refused; until then the status is `signing-out`, and `error` says what it waits for. */
  readonly signOut: Client['signOut']
  readonly client: Client
}

/**
 * Who is signed in.
 *
 * @example
 * const { status, error, isAuthenticated, signOut } = useAuth()
 * @example
 * // Once in the app, for the types of its own endpoints:
 * export const useAppAuth = useAuth<typeof authClient>
 */
export function useAuth<Client extends HookClient = HookClient>(): UseAuthResult<Client> {
  const { client, state } = useAuthContext()
  const isAuthenticated = state.status === 'authenticated'
  return {
    ...state,
    isAuthenticated,
    refresh: client.refresh,
    signOut: client.signOut,
    // The provider was given that client: only the app knows more of its type.
    client: client as Client,
  }
}
