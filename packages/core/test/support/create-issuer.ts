import { type AuthConfig, type AuthConfigOptions, defineAuthConfig, staticJwks } from '@sallyport/core'
import { parseSigningKeys, type SigningKey } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'

/** A configuration, and the keys that sign its tokens. */
export interface Issuer {
  readonly config: AuthConfig
  readonly key: SigningKey
  readonly signingKeys: unknown
}

export async function createIssuer(options?: Partial<AuthConfigOptions>): Promise<Issuer> {
  const signingKeys = { keys: [await createSigningKey()] }
  const { active, publicJwks } = parseSigningKeys(signingKeys)
  const jwks = staticJwks(publicJwks)
  const config = defineAuthConfig({ baseUrl: 'http://localhost:3000', ...options, jwks })
  return { config, key: active, signingKeys }
}
