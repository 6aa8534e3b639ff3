import * as client from 'openid-client'
import type { AuthConfig } from '../../config.ts'
import { AUTH_PATH } from '../../protocol.ts'
import type { StartedFlow } from './flow.ts'
import type { Provider } from './providers.ts'
import type { FlowPurpose } from './tables.ts'

/** Returns the page of the provider at which the user signs in. */
export async function toAuthorizationUrl(
  metadata: client.Configuration,
  { state, nonce, codeVerifier }: StartedFlow,
  { provider, config, purpose }: { provider: Provider; config: AuthConfig; purpose: FlowPurpose },
): Promise<URL> {
  const { scopes, parameters, responseMode, isOpenId, pkce = true } = provider
  const code_challenge = await client.calculatePKCECodeChallenge(codeVerifier)
  return client.buildAuthorizationUrl(metadata, {
    ...parameters,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    ...(responseMode === 'form_post' && { response_mode: 'form_post' }),
    ...(isOpenId && { nonce }),
    ...(pkce && { code_challenge, code_challenge_method: 'S256' }),
    // OpenID Connect Core 1.0 section 3.1.2.1. The callback checks `auth_time`.
    ...(purpose === 'reauthenticate' && { max_age: '0', prompt: 'login' }),
    redirect_uri: redirectUriOf(provider, config),
    state,
  })
}

/** The callback URL that is registered at the provider. */
export function redirectUriOf({ id }: Provider, { issuer }: AuthConfig): string {
  return `${issuer}${AUTH_PATH}/callback/${id}`
}
