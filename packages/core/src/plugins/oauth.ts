export type { UnlinkAccountInput } from './oauth/accounts.ts'
export type { OauthCodeInput } from './oauth/app-code.ts'
export { type OauthEndpoints, type OauthPlugin, oauth } from './oauth/oauth.ts'
export type {
  AccountEmail,
  OauthLimits,
  OauthOptions,
  OauthPerson,
  OauthProfile,
  OauthProviderOptions,
} from './oauth/options.ts'
export type { ProviderToken, ProviderTokenQuery } from './oauth/provider-tokens.ts'
export type {
  AppOauthInput,
  BeginOauthInput,
  OauthUrlResponse,
  SignInOauthInput,
} from './oauth/start.ts'
export type { AccountResponse } from './usable-accounts.ts'
