import type { EndpointFetch } from './fetch-endpoint.ts'
import type { AuthState, SessionEvent, SessionState } from './session-state.ts'
import type { Tabs } from './tabs.ts'
import type { TokenStore } from './transport.ts'

export const clientSession = '~session'

export interface Store<Value> {
  get(): Value
  set(next: Value): void
  /** Returns a function that removes the listener and returns whether it existed. */
  subscribe(listener: () => void): () => boolean
}

export function createStore<Value>(value: Value): Store<Value> {
  let current = value
  const listeners = new Set<() => void>()
  return {
    get: () => current,
    set(next) {
      current = next
      // A listener may subscribe again.
      for (const listener of [...listeners])
        try {
          listener()
        } catch (error) {
          // The later listeners hide the former user's data.
          console.error(error)
        }
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The state of a client session, which only events change, and the objects that its effects use. */
export interface SessionStore extends Pick<Store<SessionState>, 'get' | 'subscribe'> {
  emit(event: SessionEvent): void
  /** Sends a request to an auth endpoint. */
  readonly send: EndpointFetch
  readonly tabs: Tabs
  readonly tokens: TokenStore | undefined
  /** Set on a server, where only calls with the cookies of a page's headers are sent, and nothing waits. */
  readonly server: false | { readonly headers?: Pick<Headers, 'get'> | undefined }
}

/** The session of a client for the links. Apps use `AuthState`. */
export interface ClientSession extends Omit<SessionStore, 'subscribe'> {
  getState(): AuthState
  getServerState(): AuthState
  subscribe(listener: () => void): () => void
  refresh(): Promise<AuthState>
  /** Waits for a refresh if the JWT is due. Never rejects: the server decides the call. */
  refreshDue(): Promise<void>
  /** Waits for a newer JWT, or throws the reason. Sends at most three requests a minute. */
  refreshAfter(seq: number): Promise<undefined>
  /** Waits for the changes in flight in any tab, and returns whether one brought a newer JWT. */
  isSuperseded(seq: number): Promise<boolean>
  /** Refreshes if a call of this user was rejected because the session ended or the user is banned. */
  report(reason: string, userChanges: number): void
  /** Runs a call that may change the user, while no other tab does, and stores its credentials. */
  change(call: () => Promise<object>): Promise<object>
  signOut(): Promise<AuthState>
}

/** The members of a client that show and change its session. */
export interface SessionClient
  extends Pick<ClientSession, 'getState' | 'getServerState' | 'subscribe' | 'refresh' | 'signOut'> {
  readonly [clientSession]: ClientSession
}
