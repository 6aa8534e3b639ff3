import type { AuthClientError } from './auth-client-error.ts'

/**
 * Whether a user is signed in.
 * - `loading`: the client has sent no request yet, or waits for the first response
 * - `authenticated`
 * - `unauthenticated`
 * - `signing-out`: the user signed out and the server hasn't confirmed it yet
 * - `unknown`: the client got no first response, and retries
 */
export type AuthStatus = 'loading' | 'authenticated' | 'unauthenticated' | 'signing-out' | 'unknown'

/** What the client knows about the user. Immutable: each change creates a new object. */
export interface AuthState {
  readonly status: AuthStatus
  /** Counts the changes of the user. Data from before the latest may belong to another user. */
  readonly userChanges: number
  /** Null if no user is signed in, or the client doesn't know. */
  readonly userId: string | null
  readonly sessionId: string | null
  /**
   * Why the latest attempt failed, for the page to show: no connection, a database that is down,
   * `ACCOUNT_BANNED`, `COOKIE_CONFLICT`. Null after a success. The status stays what it was. Only
   * `SECRET_SUPERSEDED` comes with `unauthenticated`: newer credentials replaced those of this browser.
   */
  readonly error: AuthClientError | null
}
