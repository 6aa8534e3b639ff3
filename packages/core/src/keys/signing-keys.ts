import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose'
import { ConfigurationError } from '../errors.ts'
import type { Algorithm } from './key-set.ts'
import { type PrivateJwk, type PublicJwk, parsePrivateJwks } from './policy.ts'

/** A private key that signs JWTs. */
export interface SigningKey {
  readonly kid: string
  readonly alg: Algorithm
  /** The key for WebCrypto, imported once. */
  cryptoKey(): Promise<CryptoKey>
}

/** The private keys of a server. */
export interface SigningKeys {
  /** The key that signs. */
  readonly active: SigningKey
  /** The public halves of all keys, as `GET /api/auth/jwks` publishes them. */
  readonly publicJwks: { keys: PublicJwk[] }
}

/**
 * Reads private keys, usually from the environment variable `SIGNING_KEYS`. The first signs.
 *
 * @param jwks a JWK Set as JSON text or as an object
 * @throws ConfigurationError naming the member at fault
 */
export function parseSigningKeys(jwks: unknown): SigningKeys {
  const keys = parsePrivateJwks(jwks, 'SIGNING_KEYS')
  const [first] = keys
  if (first === undefined) throw new ConfigurationError('SIGNING_KEYS has no key')
  return { active: signingKey(first), publicJwks: { keys: keys.map(toPublicJwk) } }
}

/** Makes a key pair whose `kid` is its thumbprint (RFC 7638). */
export async function createSigningKey(alg: Algorithm = 'Ed25519'): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint(jwk)
  const [key] = parsePrivateJwks({ keys: [{ ...jwk, kid, alg, use: 'sig' }] }, 'key')
  if (key === undefined) throw new ConfigurationError('No key was made')
  return key
}

/** The public half of a key: the members that the policy names and no other, so that no private one can slip through. */
export function toPublicJwk(jwk: PrivateJwk): PublicJwk {
  const { kid, x } = jwk
  return jwk.alg === 'ES256'
    ? { kty: 'EC', crv: 'P-256', alg: jwk.alg, use: 'sig', kid, x, y: jwk.y }
    : { kty: 'OKP', crv: 'Ed25519', alg: jwk.alg, use: 'sig', kid, x }
}

function signingKey(jwk: PrivateJwk): SigningKey {
  let imported: Promise<CryptoKey> | undefined
  return {
    kid: jwk.kid,
    alg: jwk.alg,
    cryptoKey() {
      imported ??= importPrivateKey(jwk)
      return imported
    },
  }
}

async function importPrivateKey(jwk: PrivateJwk): Promise<CryptoKey> {
  const key = await importJWK({ ...toPublicJwk(jwk), d: jwk.d }, jwk.alg)
  if (key instanceof Uint8Array) throw new ConfigurationError('SIGNING_KEYS: a private key was expected')
  return key
}
