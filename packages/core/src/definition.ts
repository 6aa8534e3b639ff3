import type { AuthConfig } from './config.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { ConfigurationError } from './errors.ts'
import type { DefinePayload } from './jwt/issue-jwt.ts'
import { parseSigningKeys, type SigningKeys } from './keys/signing-keys.ts'

/** A part of the auth definition that brings endpoints of its own. */
export interface AuthPlugin {
  readonly id: string
  readonly endpoints: readonly Endpoint[]
}

/** What {@link defineAuth} takes. */
export interface AuthDefinitionOptions {
  config: AuthConfig
  /**
   * The private keys: the variable `SIGNING_KEYS` that `sallyport keys create` makes, or the `signingKeys` of `openKeyFile`.
   */
  signingKeys: unknown
  /** Further claims for our JWTs, such as a tenant. Anyone who has the token can read them; ours cannot be overridden. */
  definePayload?: DefinePayload
  plugins?: readonly AuthPlugin[]
}

/** The auth definition with all its plugins. Heavy: no module that every procedure imports may reach it (spec section 1). */
export interface AuthDefinition {
  readonly config: AuthConfig
  readonly signingKeys: SigningKeys
  readonly definePayload: DefinePayload
  readonly plugins: readonly AuthPlugin[]
}

/**
 * Brings the configuration, the private keys and the plugins together.
 *
 * @example export default defineAuth({ config: authConfig, signingKeys: env.SIGNING_KEYS, plugins: [emailPassword(), admin()] })
 * @throws ConfigurationError when the keys break the policy, or sign what the configuration's JWKS cannot verify
 */
export function defineAuth(options: AuthDefinitionOptions): AuthDefinition {
  const { config, signingKeys, definePayload = () => ({}), plugins = [] } = options
  const keys = isSigningKeys(signingKeys) ? signingKeys : parseSigningKeys(signingKeys)
  const verifier = config.issuers[0].jwks.findKey(keys.active.kid)
  // A set that has to be fetched is not waited for; whoever needs it is told of a failure.
  if (verifier instanceof Promise) verifier.catch(() => {})
  else if (verifier?.alg !== keys.active.alg) {
    throw new ConfigurationError(
      'SIGNING_KEYS: the key that signs is not in JWKS, so nobody could verify its tokens',
    )
  }
  return { config, signingKeys: keys, definePayload, plugins }
}

function isSigningKeys(value: unknown): value is SigningKeys {
  return typeof value === 'object' && value !== null && 'active' in value && 'publicJwks' in value
}
