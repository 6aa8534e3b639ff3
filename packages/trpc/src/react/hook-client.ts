import type { CurrentSessionResponse } from '@sallyport/core/internal/protocol'
import type { AuthState } from '../client/session-state.ts'

/** The part of an auth client that the hooks use. Any client from `createAuthClient` has it. */
export interface HookClient {
  readonly api: {
    getSession(): Promise<CurrentSessionResponse>
    /** From the plugin `emailPassword()`. */
    reauthenticate?(input: { password: string }): Promise<unknown>
  }
  getState(): AuthState
  getServerState(): AuthState
  subscribe(listener: () => void): () => void
  refresh(): Promise<AuthState>
  signOut(): Promise<AuthState>
}
