import type { CurrentSessionResponse } from '@sallyport/core/internal/protocol'
import type { AuthState } from '../client/auth-state.ts'

/** What the hooks need of an auth client: one that `createAuthClient<typeof auth.api>()` makes has it, whatever its further endpoints. */
export interface HookClient {
  readonly api: {
    getSession(): Promise<CurrentSessionResponse>
    /** Of the plugin `emailPassword()`. */
    reauthenticate?(input: { password: string }): Promise<unknown>
  }
  getState(): AuthState
  getServerState(): AuthState
  subscribe(listener: () => void): () => void
  refresh(): Promise<AuthState>
  signOut(): Promise<AuthState>
}
