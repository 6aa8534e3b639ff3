import type { Proof } from '../jwt/proof.ts'
import type { KeySet } from '../keys/key-set.ts'
import { AuthError, ConfigurationError } from '../protocol/errors.ts'
import { decodeCookie, readForeignCookie } from '../request/foreign-cookie.ts'
import { createSecretKeys, type SecretKeys } from './secret-keys.ts'
import type { SessionKey } from './session.ts'

/** Options of {@link sessionCookieProof}. */
export interface SessionCookieOptions {
  /** The name of the cookie, or a function that returns it. */
  readonly cookie: string | (() => string)
  /**
   * The secret that signs the cookie, or a function that returns the current one. Null if the cookie is the
   * token itself: a long random value that `findSession` looks up. Each unknown token then costs a lookup.
   */
  readonly secret: string | (() => string) | null
  /**
   * Returns the ids of the session with this token and of its user; null if the session doesn't exist. Called
   * once for each token, so the ids must never change. If it throws, the call gets 503. Return a `version`,
   * which Step 2 compares with the row, if a new session may get the id of a deleted one.
   */
  readonly findSession: (token: string) => Promise<(SessionKey & { readonly version?: number }) | null>
}

/**
 * Creates Step 1 for the session cookie of another library: `token.signature`, where the signature is the
 * HMAC-SHA256 of the token in base64. A bearer token has the same form. Step 2 reads the tables of that
 * library (`openSqliteStore` or `openPostgresStore`, whose `mapping.issuer` is the origin of `baseUrl`).
 * @throws ConfigurationError if `secret` is undefined or empty
 * @example
 * const { SECRET: secret = '' } = process.env
 * defineAuthConfig({ baseUrl, ...sessionCookieProof({ cookie: 'sid', secret, findSession }) })
 */
export function sessionCookieProof({ cookie, secret, findSession }: SessionCookieOptions): {
  readonly jwks: KeySet
  readonly proof: Proof
} {
  // A variable that isn't set. It must never mean "no signature".
  if (secret === undefined || secret === '')
    throw new ConfigurationError(
      'sessionCookieProof: secret is not set. Pass the secret that signs the cookie, or null if unsigned.',
    )
  const jwks = secret === null ? UNSIGNED : createSecretKeys(toFunction(secret))
  const cookieName = toFunction(cookie)
  const proof: Proof = {
    readToken({ cookie, bearer }) {
      return bearer === null ? readForeignCookie(cookie, cookieName()) : decodeCookie(bearer)
    },
    async verify(value) {
      const { token, keyId } = await jwks.verify(value)
      const key = await findSession(token)
      if (key === null) throw new AuthError('SESSION_NOT_FOUND')
      return { ...key, keyId }
    },
  }
  return { jwks, proof }
}

const UNSIGNED: SecretKeys = {
  version: 1,
  algorithms: new Set(),
  findKey: () => undefined,
  keys: () => [],
  ready: async () => {},
  status: () => 'known',
  subscribe: () => () => {},
  verify: async (token) => ({ token, keyId: 'unsigned' }),
}

function toFunction(value: string | (() => string)): () => string {
  return typeof value === 'string' ? () => value : value
}
