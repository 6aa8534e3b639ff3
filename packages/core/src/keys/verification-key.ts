import { importJWK } from 'jose'
import { AuthError } from '../protocol/errors.ts'
import type { VerificationKey, WebCryptoKey } from './key-set.ts'
import type { PublicJwk } from './policy.ts'

export function verificationKey(jwk: PublicJwk): VerificationKey {
  const material = jwk.kty === 'RSA' ? jwk.n : jwk.x
  return { kid: jwk.kid, alg: jwk.alg, material, cryptoKey: importOnce(jwk) }
}

/** Returns a function that imports a key once. It throws `KEYS_UNAVAILABLE` for an invalid key. */
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
