import type { AuthConfig } from '../config.ts'
import { parseKeyRing } from '../keys/key-ring-json.ts'
import type { KeySet } from '../keys/key-set.ts'
import { isSigningKeys, ringSigningKeys, type SigningKeys } from '../keys/signing-keys.ts'
import { staticJwks } from '../keys/static-jwks.ts'
import { ConfigurationError } from '../protocol/errors.ts'

/**
 * Reads the private keys of a service, usually from the environment variable `SERVICE_SIGNING_KEYS` that `sallyport keys create --prefix
 * SERVICE_` makes.
 *
 * @param keys a key ring, or a plain JWK Set whose first key signs, as JSON text or as an object; or the `signingKeys` of `openKeyFile`
 * @throws ConfigurationError naming the member at fault, or where one of the keys signs JWTs of users too
 */
export function parseServiceSigningKeys(keys: unknown, config: Pick<AuthConfig, 'issuers'>): SigningKeys {
  const signingKeys = isSigningKeys(keys) ? keys : ringSigningKeys(parseKeyRing(keys, SETTING))
  refuseSharedKeys(staticJwks(signingKeys.publicJwks), config, SETTING)
  return signingKeys
}

const SETTING = 'SERVICE_SIGNING_KEYS'

/**
 * Keys of services are for service JWTs alone: whoever has one must not be able to make a JWT of a user, nor the other way round.
 *
 * @throws ConfigurationError where a key set has a key, or the id of one, that JWTs of users are verified with
 */
export function refuseSharedKeys(
  serviceKeys: KeySet,
  { issuers }: Pick<AuthConfig, 'issuers'>,
  setting = 'SERVICE_JWKS',
): void {
  const ofUsers = issuers.flatMap(({ jwks }) => [...jwks.keys()])
  for (const { kid, material } of serviceKeys.keys()) {
    if (ofUsers.some((key) => key.kid === kid || key.material === material)) {
      throw new ConfigurationError(
        `${setting}: the key ${kid} verifies JWTs of users too. Make keys of its own with "sallyport keys create --prefix SERVICE_"`,
      )
    }
  }
}
