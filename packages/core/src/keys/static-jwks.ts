import { ALGORITHMS, type KeySet, type VerificationAlgorithm } from './key-set.ts'
import { parsePublicJwks } from './policy.ts'
import { verificationKey } from './verification-key.ts'

/**
 * A key set that is known from the start, usually from an environment variable: Step 1 never waits (spec section 2).
 *
 * @param jwks a JWK Set as JSON text or as an object; refused whole when one key breaks the policy
 * @param options `algorithms`: what the keys may be for; widen it only for tokens of another issuer. `name`: what errors
 * call it, such as `SERVICE_JWKS`
 * @example staticJwks(process.env.JWKS)
 * @throws ConfigurationError naming the member at fault
 */
export function staticJwks(
  jwks: unknown,
  {
    algorithms = ALGORITHMS,
    name = 'JWKS',
  }: { algorithms?: readonly VerificationAlgorithm[]; name?: string } = {},
): KeySet {
  const keys = new Map(parsePublicJwks(jwks, name, algorithms).map((jwk) => [jwk.kid, verificationKey(jwk)]))
  return {
    version: 1,
    algorithms: new Set(algorithms),
    findKey: (kid) => keys.get(kid),
    keys: () => keys.values(),
    async ready() {
      await Promise.all(Array.from(keys.values(), (key) => key.cryptoKey()))
    },
    status: (kid) => (keys.has(kid) ? 'known' : 'gone'),
    subscribe: () => () => {},
  }
}
