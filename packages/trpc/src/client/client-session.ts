import type { EndpointFetch } from './fetch-endpoint.ts'
import type { AuthState, SessionEvent, SessionState } from './session-state.ts'
import type { Store } from './store.ts'
import type { Tabs } from './tabs.ts'
import type { TokenStore } from './transport.ts'

export const clientSession: unique symbol = Symbol.for('sallyport.clientSession') as never

/** The state of a client session, which only events change, and what its effects act on. */
export interface SessionStore extends Pick<Store<SessionState>, 'get' | 'subscribe'> {
  dispatch(event: SessionEvent): void
  readonly fetchEndpoint: EndpointFetch
  readonly tabs: Tabs
  readonly tokens: TokenStore | undefined
}

/** The session of a client, as our links use it. Apps use `AuthState`. */
export interface ClientSession extends Omit<SessionStore, 'subscribe'> {
  getState(): AuthState
  subscribe(listener: () => void): () => void
  /** Never rejects: read the returned state. */
  refresh(): Promise<AuthState>
  /** Waits for a refresh if the JWT is due. Never rejects: the server decides the call. */
  refreshIfDue(): Promise<void>
  /** Waits for a newer JWT, or throws why there is none. Sends at most three requests a minute. */
  refreshAfter(generation: number): Promise<void>
  /** Waits for the changes in flight in any tab, and returns whether there is a newer JWT. */
  isOvertaken(generation: number): Promise<boolean>
  /** Refreshes if the reason for rejecting a call of this user is that the session ended, or a ban. */
  report(reason: string, userChanges: number): void
  /** Runs a call that may change the user, while no other tab does, and stores its credentials. */
  change(call: () => Promise<object>): Promise<object>
  /** Never rejects: read the returned state. */
  signOut(): Promise<AuthState>
}
