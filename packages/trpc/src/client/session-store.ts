import type { CallEndpoint } from './call-endpoint.ts'
import type { SessionEvent, SessionState } from './session-state.ts'
import type { Store } from './store.ts'
import type { Tabs } from './tabs.ts'
import type { CredentialTransport, TokenStore } from './transport.ts'

/** What the effects of a client session share: its state, which only events change, and what they act on. */
export interface SessionStore extends Pick<Store<SessionState>, 'get' | 'subscribe'> {
  dispatch(event: SessionEvent): void
  readonly callEndpoint: CallEndpoint
  /** Calls the endpoints with other credentials. */
  reach(transport: CredentialTransport): CallEndpoint
  readonly tabs: Tabs
  /** Where the program keeps the tokens itself. */
  readonly tokens: TokenStore | undefined
}
