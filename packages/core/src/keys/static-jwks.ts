import { ALGORITHMS, type KeySet, type VerificationAlgorithm } from './key-set.ts'
import { parsePublicJwks } from './policy.ts'
import { verificationKey } from './verification-key.ts'

/**
 * Parses a key set that never changes, usually from an environment variable (`docs/keys.md`).
 * @param jwks a JWK Set as JSON text or as an object. One invalid key rejects the whole set
 * @param options.algorithms allow other algorithms only for tokens of another issuer
 * @param options.name the name in error messages, such as `SERVICE_JWKS`
 * @example staticJwks(process.env.JWKS)
 * @throws ConfigurationError naming the invalid member
 */
export function staticJwks(
  jwks: unknown,
  options: { algorithms?: readonly VerificationAlgorithm[]; name?: string } = {},
): KeySet {
  const { algorithms = ALGORITHMS, name = 'JWKS' } = options
  const keys = new Map(parsePublicJwks(jwks, name, algorithms).map((jwk) => [jwk.kid, verificationKey(jwk)]))
  return {
    version: 1,
    algorithms: new Set(algorithms),
    findKey: (kid) => keys.get(kid),
    keys: () => keys.values(),
    ready: async () => void (await Promise.all(Array.from(keys.values(), (key) => key.cryptoKey()))),
    status: (kid) => (keys.has(kid) ? 'known' : 'gone'),
    subscribe: () => () => {},
  }
}
