import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { activeKey, type KeyRing, type PublicKeys, publicKeys } from './key-ring.ts'
import { parseKeyRing } from './key-ring-json.ts'
import { ALGORITHMS, type Algorithm, type WebCryptoKey } from './key-set.ts'
import { type PrivateJwk, parsePrivateJwks } from './policy.ts'
import { importOnce } from './verification-key.ts'

/** A private key that signs JWTs. */
export interface SigningKey {
  readonly kid: string
  readonly alg: Algorithm
  /** Returns the key for WebCrypto, imported once. @throws AuthError `KEYS_UNAVAILABLE` if it is invalid */
  cryptoKey(): Promise<WebCryptoKey>
}

/** The current private keys of a server. */
export interface SigningKeys {
  readonly active: SigningKey
  /** The public halves of all keys, as `GET /api/auth/jwks` publishes them. */
  readonly publicJwks: PublicKeys
}

/**
 * Parses private keys, usually from the environment variable `SIGNING_KEYS`.
 * @param jwks a key ring, or a plain JWK Set whose first key signs, as JSON text or as an object
 * @throws ConfigurationError naming the invalid member
 */
export function parseSigningKeys(jwks: unknown): SigningKeys {
  return ringSigningKeys(parseKeyRing(jwks, 'SIGNING_KEYS'))
}

/** Returns whether a value is already parsed, such as the keys of `openKeyFile`, and not a JWK Set. */
export function isSigningKeys(value: unknown): value is SigningKeys {
  return typeof value === 'object' && value !== null && 'active' in value && 'publicJwks' in value
}

export function ringSigningKeys(ring: KeyRing): SigningKeys {
  const { jwk } = activeKey(ring)
  return { active: { kid: jwk.kid, alg: jwk.alg, cryptoKey: importOnce(jwk) }, publicJwks: publicKeys(ring) }
}

/** Creates a key pair whose `kid` is its thumbprint (RFC 7638) and doesn't start with a dash. */
export async function createSigningKey(alg: Algorithm = ALGORITHMS[0]): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint(jwk)
  // The command line would read it as an option.
  if (kid.startsWith('-')) return createSigningKey(alg)
  const [key] = parsePrivateJwks({ keys: [{ ...jwk, kid, alg, use: 'sig' }] }, 'The new key')
  if (key === undefined) throw new Error('The runtime created no key. Try another algorithm.')
  return key
}
