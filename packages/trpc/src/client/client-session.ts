import type { Reason } from '@sallyport/core/internal/protocol'
import type { AuthState } from './auth-state.ts'
import type { SessionStore } from './session-store.ts'

/** Where a client keeps what our own links and hooks need of it. */
export const clientSession: unique symbol = Symbol.for('sallyport.clientSession') as never

/** The session of a client, for our own code: apps go by the state, the links and the hooks. */
export interface ClientSession extends Omit<SessionStore, 'subscribe'> {
  /** JWTs received so far: a refusal of an older one says nothing about the newest. */
  readonly generation: number
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
}
