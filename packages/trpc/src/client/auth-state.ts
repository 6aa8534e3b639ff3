import type { AuthClientError } from './auth-client-error.ts'

/**
 * Whether someone is signed in.
 * - `loading`: not asked yet, or the first answer is on its way
 * - `authenticated`
 * - `unauthenticated`
 * - `signing-out`: the user has asked for it and the server has not confirmed it yet
 * - `unknown`: asked, and nobody could say; it is asked again
 */
export type AuthStatus = 'loading' | 'authenticated' | 'unauthenticated' | 'signing-out' | 'unknown'

/** Who is signed in, as far as the client knows. A state never changes: another one takes its place. */
export interface AuthState {
  readonly status: AuthStatus
  /** Counts the changes of who is signed in. What was read before the latest may be another user's. */
  readonly userChanges: number
  /** Null where nobody is signed in, or nobody knows. */
  readonly userId: string | null
  readonly sessionId: string | null
  /**
   * Why the latest attempt got nowhere, for the page to show: no connection, a database that is down,
   * `ACCOUNT_BANNED`, `COOKIE_CONFLICT`. Null when all is well. The status is what it was before. Only
   * `SECRET_SUPERSEDED` comes with `unauthenticated`: newer credentials replaced those of this browser.
   */
  readonly error: AuthClientError | null
}

/** Whether nobody is signed in, or about to be nobody. */
export function isOut({ status }: AuthState): boolean {
  return status === 'unauthenticated' || status === 'signing-out'
}

/** Whether nobody could say yet who is signed in. */
export function isUnanswered({ status }: AuthState): boolean {
  return status === 'loading' || status === 'unknown'
}
