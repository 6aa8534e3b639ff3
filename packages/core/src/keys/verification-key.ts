import { importJWK } from 'jose'
import { AuthError } from '../protocol/errors.ts'
import type { VerificationKey, WebCryptoKey } from './key-set.ts'
import type { PublicJwk } from './policy.ts'

/** Creates a public key that is imported when it is first needed. */
export function verificationKey(jwk: PublicJwk): VerificationKey {
  return {
    kid: jwk.kid,
    alg: jwk.alg,
    material: jwk.kty === 'RSA' ? jwk.n : jwk.x,
    cryptoKey: importOnce(jwk),
  }
}

/** Returns a function that imports a key once. It throws `KEYS_UNAVAILABLE` if it isn't a valid key. */
export function importOnce(jwk: PublicJwk): () => Promise<WebCryptoKey> {
  let imported: Promise<WebCryptoKey> | undefined
  return () => {
    imported ??= importKey(jwk)
    return imported
  }
}

async function importKey(jwk: PublicJwk): Promise<WebCryptoKey> {
  try {
    const key = await importJWK({ ...jwk }, jwk.alg)
    if (key instanceof Uint8Array) throw new TypeError('An asymmetric key was expected')
    return key
  } catch (cause) {
    throw new AuthError('KEYS_UNAVAILABLE', { cause })
  }
}
