import type { AuthPlugin } from '../../endpoints/definition.ts'
import type { Endpoint } from '../../endpoints/endpoint.ts'
import { rateLimits } from '../internal.ts'
import { hasProvider, listAccounts, removeAdded, unlinkAccount } from './accounts.ts'
import { reauthenticateOauthCode, signInOauthCode } from './app-code.ts'
import { callbacks } from './callback.ts'
import { OAUTH_ERRORS } from './errors.ts'
import { DEFAULT_LIMITS, type OauthOptions } from './options.ts'
import type { ProviderToken, ProviderTokenQuery } from './provider-tokens.ts'
import { createTokenReader } from './provider-tokens.ts'
import { createProvider } from './providers.ts'
import type { Settings } from './settings.ts'
import {
  type AppOauthInput,
  type BeginOauthInput,
  linkAccount,
  type OauthUrlResponse,
  reauthenticateOauth,
  type SignInOauthInput,
  signInOauth,
} from './start.ts'
import { migrations } from './tables.ts'

export type OauthEndpoints<Name extends string = string> = {
  readonly signInOauth: Endpoint<SignInOauthInput<Name>, OauthUrlResponse, true>
  readonly signInOauthCode: ReturnType<typeof signInOauthCode>
  readonly reauthenticateOauth: Endpoint<AppOauthInput<Name>, OauthUrlResponse, true>
  readonly reauthenticateOauthCode: ReturnType<typeof reauthenticateOauthCode>
  readonly linkAccount: Endpoint<BeginOauthInput<Name>, OauthUrlResponse, true>
  readonly listAccounts: ReturnType<typeof listAccounts>
  readonly unlinkAccount: ReturnType<typeof unlinkAccount>
}

export interface OauthPlugin<Name extends string = string>
  extends AuthPlugin<OauthEndpoints<Name>, Record<never, never>> {
  /**
   * Returns a user's access token for the API of a provider, refreshed if it expires within a minute. For the
   * server's own code: it doesn't check who calls.
   * @throws EndpointError `PROVIDER_TOKEN_MISSING` if the user must sign in with the provider again, or
   * `PROVIDER_UNAVAILABLE`
   */
  getProviderToken(query: ProviderTokenQuery): Promise<ProviderToken>
}

/**
 * Adds sign-in at OpenID and OAuth 2 providers. Needs `openid-client`. Register
 * `<baseUrl>/api/auth/callback/<name>` as the callback URL at each provider.
 * @example oauth({ providers: { github: { clientId: env.GITHUB_ID, clientSecret: env.GITHUB_SECRET } } })
 * @throws ConfigurationError if a provider or a limit is invalid; `createAuth` throws if one is incomplete
 */
export function oauth<Name extends string>(options: OauthOptions<Name>): OauthPlugin<Name>
export function oauth(options: OauthOptions): OauthPlugin {
  const entries = Object.entries(options.providers).flatMap(([id, provider]) =>
    provider === undefined ? [] : [[id, createProvider(id, provider)]],
  )
  const providers: Settings['providers'] = Object.fromEntries(entries)
  const settings: Settings = {
    providers,
    redirects: options.redirects ?? [],
    errorTo: options.errorTo ?? '/',
    sendEmail: options.sendEmail,
    limits: rateLimits(DEFAULT_LIMITS, options.limits),
  }
  return {
    id: 'oauth',
    reasons: OAUTH_ERRORS,
    migrations,
    expiringTables: ['oauthFlow', 'oauthCode'],
    missingSetting: () => Object.values(providers).find(({ missing }) => missing !== null)?.missing ?? null,
    canSignIn: (userId, db) => hasProvider(userId, db, settings),
    getProviderToken: createTokenReader(providers),
    async onChange(event, trx) {
      if (event.type === 'user.email-change-undone') await removeAdded(event, trx)
    },
    endpoints: {
      ...callbacks(settings),
      signInOauth: signInOauth(settings),
      signInOauthCode: signInOauthCode(settings),
      reauthenticateOauth: reauthenticateOauth(settings),
      reauthenticateOauthCode: reauthenticateOauthCode(settings),
      linkAccount: linkAccount(settings),
      listAccounts: listAccounts(settings),
      unlinkAccount: unlinkAccount(settings),
    },
  }
}
