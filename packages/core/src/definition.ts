import type { AuthConfig } from './config.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { ConfigurationError } from './errors.ts'
import { parseSigningKeys, type SigningKeys } from './keys/signing-keys.ts'

/** A part of the auth definition that brings endpoints of its own. */
export interface AuthPlugin {
  readonly id: string
  readonly endpoints: readonly Endpoint[]
}

/** What {@link defineAuth} takes. */
export interface AuthDefinitionOptions {
  config: AuthConfig
  /** The private keys as a JWK Set, JSON text or object; the first signs. Make them with `sallyport keys create`. */
  signingKeys: unknown
  plugins?: readonly AuthPlugin[]
}

/** The auth definition with all its plugins. Heavy: no module that every procedure imports may reach it (spec section 1). */
export interface AuthDefinition {
  readonly config: AuthConfig
  readonly signingKeys: SigningKeys
  readonly plugins: readonly AuthPlugin[]
}

/**
 * Brings the configuration, the private keys and the plugins together.
 *
 * @example export default defineAuth({ config: authConfig, signingKeys: env.SIGNING_KEYS, plugins: [emailPassword(), admin()] })
 * @throws ConfigurationError when the keys break the policy, or sign what the configuration's JWKS cannot verify
 */
export function defineAuth({ config, signingKeys, plugins = [] }: AuthDefinitionOptions): AuthDefinition {
  const keys = parseSigningKeys(signingKeys)
  const verifier = config.jwks.findKey(keys.active.kid)
  if (!(verifier instanceof Promise) && verifier?.alg !== keys.active.alg) {
    throw new ConfigurationError(
      'SIGNING_KEYS: the key that signs is not in JWKS, so nobody could verify its tokens',
    )
  }
  return { config, signingKeys: keys, plugins }
}
