import { importJWK } from 'jose'
import { AuthError } from '../errors.ts'
import { ALGORITHMS, type KeySet, type VerificationKey } from './key-set.ts'
import { type PublicJwk, parsePublicJwks } from './policy.ts'

/**
 * A key set that is known from the start, usually from an environment variable: Step 1 never waits (spec section 2).
 *
 * @param jwks a JWK Set as JSON text or as an object; refused whole when one key breaks the policy
 * @example staticJwks(process.env.JWKS)
 * @throws ConfigurationError naming the member at fault
 */
export function staticJwks(jwks: unknown): KeySet {
  const keys = new Map(parsePublicJwks(jwks, 'JWKS').map((jwk) => [jwk.kid, verificationKey(jwk)]))
  return {
    version: 1,
    algorithms: new Set(ALGORITHMS),
    findKey: (kid) => keys.get(kid),
  }
}

function verificationKey(jwk: PublicJwk): VerificationKey {
  let imported: Promise<CryptoKey> | undefined
  return {
    kid: jwk.kid,
    alg: jwk.alg,
    cryptoKey() {
      imported ??= importPublicKey(jwk)
      return imported
    },
  }
}

async function importPublicKey({ kty, crv, x, y, alg }: PublicJwk & { y?: unknown }): Promise<CryptoKey> {
  try {
    const key = await importJWK({ kty, crv, x, ...(typeof y === 'string' && { y }) }, alg)
    if (key instanceof Uint8Array) throw new TypeError('A public key was expected')
    return key
  } catch (cause) {
    // The policy sees the shape; only the import can tell that a point is not on its curve.
    throw new AuthError('KEYS_UNAVAILABLE', { cause })
  }
}
