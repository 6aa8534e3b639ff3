import type { AuthConfig } from '../config.ts'
import { AuthError } from '../errors.ts'
import { parseClaims } from './claims.ts'
import type { Identity } from './identity.ts'
import { verifyJws } from './verify-jws.ts'

/** The `typ` of our JWTs: an access token (RFC 9068 section 2.1), so that no other kind of token passes for one. */
export const JWT_TYPE = 'at+jwt'

/**
 * Step 1: the identity behind a JWT (spec section 5). Cryptographic only; asks no database.
 *
 * A token that was verified before costs one map look-up. The map skips the signature, never `exp`.
 *
 * @throws AuthError `TOKEN_INVALID`, `TOKEN_EXPIRED` or `KEYS_UNAVAILABLE`
 */
export async function verifyJwt(
  token: string,
  config: AuthConfig,
  now: Date = config.now(),
): Promise<Identity> {
  const known = config.identityCache.get(token, config.jwks.version)
  if (known !== undefined) {
    if (known.expiresAt <= now) throw new AuthError('TOKEN_EXPIRED')
    return known
  }
  const { payload, keyId, keySetVersion } = await verifyJws(token, config.jwks, { typ: JWT_TYPE })
  const identity = parseClaims(payload, keyId, config, now)
  config.identityCache.set(token, keySetVersion, identity)
  return identity
}
