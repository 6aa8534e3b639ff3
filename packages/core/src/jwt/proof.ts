import type { Identity } from './identity.ts'

/**
 * Step 1 for credentials that aren't our JWTs, such as the signed session cookie of another library. Results
 * are cached by token until a key changes, so the result for a token must never change. Step 2 is the same.
 */
export interface Proof {
  /** Returns a promise while `readToken` can't know yet where the token is. Awaited before it. */
  ready?(): Promise<unknown> | undefined
  /**
   * Returns the token of a request; null without one. `bearer` is the token of `Authorization` and disables
   * cookies. Equal credentials must give equal tokens.
   * @throws AuthError `COOKIE_CONFLICT`
   */
  readToken(sent: { readonly cookie: string | null; readonly bearer: string | null }): string | null
  /**
   * Proves who sent a token. May look up the session.
   * @throws AuthError `TOKEN_INVALID` or `SESSION_NOT_FOUND`. After any other error, the call gets 503
   */
  verify(token: string): Promise<ProvedIdentity>
}

/** The identity behind a token that isn't a JWT, with the id of a key in `jwks`. */
export type ProvedIdentity = Pick<Identity, 'userId' | 'sessionId' | 'keyId'> &
  Partial<Pick<Identity, 'version'>>
