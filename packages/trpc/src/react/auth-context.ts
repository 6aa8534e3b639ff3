import { type Context, createContext, useContext } from 'react'
import type { AuthState } from '../client/session-state.ts'
import { type Confirmation, createConfirmation } from './confirmation.ts'
import { type CurrentSession, createCurrentSession } from './current-session.ts'
import type { HookClient } from './hook-client.ts'

/** One per client, so several React trees share the fetched session and the dialog. */
interface Shared {
  readonly currentSession: CurrentSession
  readonly confirmation: Confirmation
  /** `userChanges` of the data in each query client. */
  readonly seen: WeakMap<AuthQueryClient, number>
}

const sharedByClient = new WeakMap<HookClient, Shared>()

export function sharedBy(client: HookClient): Shared {
  const shared = sharedByClient.get(client) ?? {
    currentSession: createCurrentSession(client),
    confirmation: createConfirmation(client),
    seen: new WeakMap(),
  }
  sharedByClient.set(client, shared)
  return shared
}

/** The part of TanStack's `QueryClient` that `AuthProvider` uses. */
export interface AuthQueryClient {
  cancelQueries(): Promise<void>
  getMutationCache(): { getAll(): readonly { options: object }[] }
  clear(): void
}

interface AuthContextValue extends Shared {
  readonly client: HookClient
  readonly state: AuthState
}

export const AuthReactContext: Context<AuthContextValue | null> = createContext<AuthContextValue | null>(null)

export function useAuthContext(): AuthContextValue {
  const value = useContext(AuthReactContext)
  if (value === null) throw new Error('No <AuthProvider>')
  return value
}
