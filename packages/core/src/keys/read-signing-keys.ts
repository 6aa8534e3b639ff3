import type { AuthConfig } from '../config.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { isSigningKeys, parseSigningKeys, type SigningKeys } from './signing-keys.ts'

/**
 * Returns the keys that sign JWTs; null without any.
 * @param signingKeys `SIGNING_KEYS`, or the `signingKeys` of `openKeyFile`
 * @throws ConfigurationError if they are invalid or don't match the JWKS
 */
export function readSigningKeys(signingKeys: unknown, config: AuthConfig): SigningKeys | null {
  if (signingKeys === undefined) return null
  const keys = isSigningKeys(signingKeys) ? signingKeys : parseSigningKeys(signingKeys)
  const verifier = config.issuers[0].jwks.findKey(keys.active.kid)
  // Don't wait for a key set that must be fetched: the first call reports a failure.
  if (verifier instanceof Promise) verifier.catch(() => {})
  else if (verifier?.alg !== keys.active.alg)
    throw new ConfigurationError(
      'SIGNING_KEYS: the key that signs is not in JWKS. Set both from the same run of "sallyport keys"',
    )
  return keys
}
