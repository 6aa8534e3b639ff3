import type { AuthConfig } from '../config.ts'
import { parseKeyRing } from '../keys/key-ring-json.ts'
import type { KeySet } from '../keys/key-set.ts'
import { isSigningKeys, ringSigningKeys, type SigningKeys } from '../keys/signing-keys.ts'
import { staticJwks } from '../keys/static-jwks.ts'
import { ConfigurationError } from '../protocol/errors.ts'

const SETTING = 'SERVICE_SIGNING_KEYS'

/**
 * Parses the private keys of a service.
 * @param keys a key ring or JWK Set, as JSON text or an object, or the `signingKeys` of `openKeyFile`
 * @throws ConfigurationError naming the invalid member, or if one of the keys also signs JWTs of users
 */
export function parseServiceSigningKeys(keys: unknown, config: Pick<AuthConfig, 'issuers'>): SigningKeys {
  const signingKeys = isSigningKeys(keys) ? keys : ringSigningKeys(parseKeyRing(keys, SETTING))
  rejectSharedKeys(staticJwks(signingKeys.publicJwks), config, SETTING)
  return signingKeys
}

/** Rejects keys of services that could also sign JWTs of users. @throws ConfigurationError naming the key */
export function rejectSharedKeys(
  serviceKeys: KeySet,
  { issuers }: Pick<AuthConfig, 'issuers'>,
  setting = 'SERVICE_JWKS',
): void {
  const userKeys = issuers.flatMap(({ jwks }) => [...jwks.keys()])
  for (const { kid, material } of serviceKeys.keys()) {
    if (userKeys.some((key) => key.kid === kid || key.material === material)) {
      throw new ConfigurationError(
        `${setting}: the key ${kid} verifies JWTs of users too. Create separate keys with "sallyport keys create --prefix SERVICE_".`,
      )
    }
  }
}
