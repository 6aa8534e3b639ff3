import { type Context, createContext, useContext } from 'react'
import type { AuthState } from '../client/auth-state.ts'
import type { HookClient } from './hook-client.ts'
import type { Shared } from './shared-by.ts'

/** What the provider hands to the hooks below it. */
export interface AuthContextValue extends Shared {
  readonly client: HookClient
  readonly state: AuthState
}

/** Null outside of a provider. */
export const AuthReactContext: Context<AuthContextValue | null> = createContext<AuthContextValue | null>(null)

/** What the nearest provider hands down. */
export function useAuthContext(): AuthContextValue {
  const value = useContext(AuthReactContext)
  if (value === null) throw new Error('No <AuthProvider>')
  return value
}
