import type { Reason } from '@sallyport/core/protocol'
import type { AuthClientError } from './auth-client-error.ts'
import type { AuthState } from './auth-state.ts'

/** Where a client keeps what our own links and hooks need of it. */
export const clientSession: unique symbol = Symbol.for('sallyport.clientSession') as never

/** The session of a client, for our own code: apps go by the state, the links and the hooks. */
export interface ClientSession {
  /** JWTs received so far: a refusal of an older one says nothing about the newest. */
  readonly generation: number
  /** The first JWT since the latest sign-in or confirmation: the server rejects those before it. */
  readonly oldestGeneration: number
  readonly isBearer: boolean
  getState(): AuthState
  subscribe(listener: () => void): () => void
  /**
   * Resolves at once unless the JWT is due, else after the refresh that all share. Never rejects: what a refresh that failed means is for
   * the server to say.
   */
  refreshIfDue(): Promise<void>
  /**
   * Resolves when a newer JWT than that generation is there.
   *
   * @throws AuthClientError `SESSION_NOT_FOUND` or `SESSION_EXPIRED` when the client is signed out, `REFRESH_LOOP` after three in a
   * minute, or why it could not be decided
   */
  refreshAfter(generation: number): Promise<void>
  /**
   * Waits for the changes that are in flight in any tab, and returns whether there is a newer JWT than that
   * one.
   */
  isOvertaken(generation: number): Promise<boolean>
  /**
   * A call made at this count of user changes was told that its session has ended or its user is banned. The token endpoint is asked whether that is so;
   * only its answer changes the state.
   */
  report(reason: Reason, userChanges: number): void
  /**
   * Asks the server whether it rejects WebSockets from this page, since a browser doesn't say why one was not
   * opened.
   */
  isPageRejected(): Promise<boolean>
  /** The error given to {@link rejectPage}, which says nothing about calls over HTTP. */
  readonly pageError: AuthClientError | null
  /** Shows in the state why the server rejects them. */
  rejectPage(error: AuthClientError): void
  /** The JWT of bearer transport; null with cookies, or where there is none. */
  token(): string | null
}
