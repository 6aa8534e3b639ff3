import { importJWK } from 'jose'
import { AuthError } from '../protocol/errors.ts'
import type { VerificationKey, WebCryptoKey } from './key-set.ts'
import type { PublicJwk } from './policy.ts'

/** A public key, imported when it is first needed. */
export function verificationKey(jwk: PublicJwk): VerificationKey {
  let imported: Promise<WebCryptoKey> | undefined
  return {
    kid: jwk.kid,
    alg: jwk.alg,
    material: jwk.kty === 'RSA' ? jwk.n : jwk.x,
    cryptoKey() {
      imported ??= importPublicKey(jwk)
      return imported
    },
  }
}

async function importPublicKey(jwk: PublicJwk): Promise<WebCryptoKey> {
  try {
    const key = await importJWK({ ...jwk }, jwk.alg)
    if (key instanceof Uint8Array) throw new TypeError('A public key was expected')
    return key
  } catch (cause) {
    // The policy sees the shape; only the import can tell that a point is not on its curve.
    throw new AuthError('KEYS_UNAVAILABLE', { cause })
  }
}
