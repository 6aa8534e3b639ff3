import type { Reason } from '@sallyport/core/internal/protocol'
import type { AuthState } from './auth-state.ts'
import type { EndpointFetch } from './fetch-endpoint.ts'
import type { SessionEvent, SessionState } from './session-state.ts'
import type { Store } from './store.ts'
import type { Tabs } from './tabs.ts'
import type { TokenStore } from './transport.ts'

/** The key of a client's {@link ClientSession}. */
export const clientSession: unique symbol = Symbol.for('sallyport.clientSession') as never

/** What the effects of a client session share: its state, which only events change, and what they act on. */
export interface SessionStore extends Pick<Store<SessionState>, 'get' | 'subscribe'> {
  dispatch(event: SessionEvent): void
  readonly fetchEndpoint: EndpointFetch
  readonly tabs: Tabs
  /** Absent if the browser keeps cookies. */
  readonly tokens: TokenStore | undefined
}

/** The session of a client, as our links use it. Apps use `AuthState`. */
export interface ClientSession extends Omit<SessionStore, 'subscribe'> {
  /** JWTs received so far. The rejection of an older one says nothing about the newest. */
  readonly generation: number
  getState(): AuthState
  subscribe(listener: () => void): () => void
  /** Never rejects: read the returned state. */
  refresh(): Promise<AuthState>
  /** Waits for a refresh, shared by all callers, if the JWT is due. Never rejects: the server decides the call. */
  refreshIfDue(): Promise<void>
  /** Waits for a JWT newer than that generation, or throws why there is none. Only three calls a minute may cause a request. */
  refreshAfter(generation: number): Promise<void>
  /** Waits for the changes in flight in any tab, and returns whether there is a JWT newer than that generation. */
  isOvertaken(generation: number): Promise<boolean>
  /** Refreshes after the rejection of a call from this count of user changes: only the token endpoint decides. */
  report(reason: Reason, userChanges: number): void
  /** Runs a call that may change the user, while no other tab does, and stores the credentials that it returns. */
  change(call: () => Promise<object>): Promise<object>
  /** Never rejects: read the returned state. */
  signOut(): Promise<AuthState>
}
