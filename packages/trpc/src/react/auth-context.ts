import { type Context, createContext, useContext } from 'react'
import type { AuthState } from '../client/session-state.ts'
import { type Confirmation, createConfirmation } from './confirmation.ts'
import { type CurrentSession, createCurrentSession } from './current-session.ts'
import type { AuthQueryClient } from './follow-user.ts'
import type { HookClient } from './hook-client.ts'

/** What all providers of one client share: one fetched session and one dialog per page, even with several React trees. */
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

interface AuthContextValue extends Shared {
  readonly client: HookClient
  readonly state: AuthState
}

export const AuthReactContext: Context<AuthContextValue | null> = createContext<AuthContextValue | null>(null)

/** Returns the value of the nearest provider. */
export function useAuthContext(): AuthContextValue {
  const value = useContext(AuthReactContext)
  if (value === null) throw new Error('No <AuthProvider>')
  return value
}
