import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose'
import { AuthError } from '../protocol/errors.ts'
import { activeKey, type KeyRing, type PublicKeys, publicKeys } from './key-ring.ts'
import { parseKeyRing } from './key-ring-json.ts'
import { ALGORITHMS, type Algorithm, type WebCryptoKey } from './key-set.ts'
import { type PrivateJwk, parsePrivateJwks } from './policy.ts'

/** A private key that signs JWTs. */
export interface SigningKey {
  readonly kid: string
  readonly alg: Algorithm
  /**
   * The key for WebCrypto, imported once.
   *
   * @throws AuthError `KEYS_UNAVAILABLE` when it is no key after all
   */
  cryptoKey(): Promise<WebCryptoKey>
}

/** The private keys of a server, as they are now. */
export interface SigningKeys {
  /** The key that signs. */
  readonly active: SigningKey
  /** The public halves of all keys, as `GET /api/auth/jwks` publishes them. */
  readonly publicJwks: PublicKeys
}

/**
 * Reads private keys, usually from the environment variable `SIGNING_KEYS`.
 *
 * @param jwks a key ring, or a plain JWK Set whose first key signs, as JSON text or as an object
 * @throws ConfigurationError naming the member at fault
 */
export function parseSigningKeys(jwks: unknown): SigningKeys {
  return ringSigningKeys(parseKeyRing(jwks, 'SIGNING_KEYS'))
}

/** Whether a value is signing keys already, such as those of `openKeyFile`, and no text or JWK Set that has to be read. */
export function isSigningKeys(value: unknown): value is SigningKeys {
  return typeof value === 'object' && value !== null && 'active' in value && 'publicJwks' in value
}

/** The signing keys of a ring. */
export function ringSigningKeys(ring: KeyRing): SigningKeys {
  return { active: signingKey(activeKey(ring).jwk), publicJwks: publicKeys(ring) }
}

/** Makes a key pair whose `kid` is its thumbprint (RFC 7638) and does not begin with a dash. */
export async function createSigningKey(alg: Algorithm = ALGORITHMS[0]): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint(jwk)
  // It would be taken for an option on the command line.
  if (kid.startsWith('-')) return createSigningKey(alg)
  const [key] = parsePrivateJwks({ keys: [{ ...jwk, kid, alg, use: 'sig' }] }, 'The new key')
  if (key === undefined) throw new Error('No key was made')
  return key
}

function signingKey(jwk: PrivateJwk): SigningKey {
  let imported: Promise<WebCryptoKey> | undefined
  return {
    kid: jwk.kid,
    alg: jwk.alg,
    cryptoKey() {
      imported ??= importPrivateKey(jwk)
      return imported
    },
  }
}

async function importPrivateKey(jwk: PrivateJwk): Promise<WebCryptoKey> {
  try {
    const key = await importJWK({ ...jwk }, jwk.alg)
    if (key instanceof Uint8Array) throw new TypeError('A private key was expected')
    return key
  } catch (cause) {
    throw new AuthError('KEYS_UNAVAILABLE', { cause })
  }
}
