export type { AccountResponse, UnlinkAccountInput } from './oauth/accounts.ts'
export type { SignInOauthCodeInput } from './oauth/app-code.ts'
export { type OauthEndpoints, type OauthPlugin, oauth } from './oauth/oauth.ts'
export type {
  AccountEmail,
  OauthLimits,
  OauthOptions,
  OauthPerson,
  OauthProfile,
  OauthProviderOptions,
  ProviderToken,
  ProviderTokenQuery,
} from './oauth/settings.ts'
export type { BeginOauthInput, OauthUrlResponse, SignInOauthInput } from './oauth/start.ts'
