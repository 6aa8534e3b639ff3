import type { CurrentSessionResponse } from '@sallyport/core/internal/protocol'
import type { AuthClient } from '../client/auth-client.ts'

/** The part of an auth client that the hooks use. Any client from `createAuthClient` has it. */
export interface HookClient
  extends Pick<AuthClient, 'getState' | 'getServerState' | 'subscribe' | 'refresh' | 'signOut'> {
  readonly api: {
    getSession(): Promise<CurrentSessionResponse>
    /** From the plugin `emailPassword()`. */
    reauthenticate?(input: { password: string }): Promise<unknown>
  }
}
