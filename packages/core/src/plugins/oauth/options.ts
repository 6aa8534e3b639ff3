import type { RateLimit } from '../../rate-limit/rate-limit.ts'
import type { EmailUser } from '../email-user.ts'

/** The rate limits of `oauth()`. */
export interface OauthLimits {
  /**
   * Sign-ins begun, callbacks, and codes of apps, each per address or IPv6 /64. Successful sign-ins are given
   * back. @default 100 in 15 minutes
   */
  readonly address: RateLimit
  /** Links and re-authentications that a user begins. @default 20 in 15 minutes */
  readonly user: RateLimit
}

export const DEFAULT_LIMITS: OauthLimits = {
  address: { points: 100, duration: 15 * 60 },
  user: { points: 20, duration: 15 * 60 },
}

/** A person, as a provider describes them. */
export interface OauthPerson {
  /** The provider's id of the account, which never changes and is never given to another account. */
  readonly accountId: string
  readonly name?: string | undefined
  readonly email?: string | undefined
  /** Whether the provider has verified that the person receives the mail of this address. @default false */
  readonly emailVerified?: boolean | undefined
  /** The https URL of a picture. */
  readonly image?: string | undefined
}

/** Where {@link OauthProviderOptions.readPerson} finds the person. */
export interface OauthProfile {
  /**
   * The claims of the ID token, and of UserInfo if the ID token lacks the email, or whether it is verified.
   * For OAuth 2, the response of `userInfoEndpoint`.
   */
  readonly claims: Readonly<Record<string, unknown>>
  /**
   * Reads JSON with the person's access token.
   * @param path relative to `userInfoEndpoint` or that of the `issuer`, such as `emails`
   */
  get(path: string): Promise<unknown>
}

/**
 * A provider: a preset, an OpenID provider with an `issuer`, or an OAuth 2 provider with
 * `authorizationEndpoint`, `tokenEndpoint`, and `userInfoEndpoint`. What is set replaces the preset's.
 */
export interface OauthProviderOptions {
  readonly clientId: string
  /** The secret, or a function that returns it, such as a JWT that expires. */
  readonly clientSecret: string | (() => string | Promise<string>)
  /** How the secret is sent (RFC 6749 section 2.3.1). @default 'post' */
  readonly clientAuthentication?: 'post' | 'basic'
  /** The URL of an OpenID provider, whose metadata are discovered. */
  readonly issuer?: string
  readonly authorizationEndpoint?: string
  readonly tokenEndpoint?: string
  readonly userInfoEndpoint?: string
  /** @default openid, email, and profile for an OpenID provider; otherwise none */
  readonly scopes?: readonly string[]
  /** Added to the authorization request, such as `{ access_type: 'offline' }`. */
  readonly parameters?: Readonly<Record<string, string>>
  /** With `form_post`, the provider posts the callback. @default 'query' */
  readonly responseMode?: 'query' | 'form_post'
  /** False for a provider that rejects PKCE. @default true */
  readonly pkce?: boolean
  /**
   * Whether the provider's word verifies an email: a first sign-in then finds the user by it. False for a
   * provider whose customers can declare any address to be verified. @default true
   */
  readonly linkByEmail?: boolean
  /** Trusts the `amr` of the ID token: `otp` then proves our second factor too. @default false */
  readonly trustAmr?: boolean
  /** To reject a person, throw an error of `rejections`. @default the standard claims of OpenID Connect */
  readonly readPerson?: (profile: OauthProfile) => OauthPerson | Promise<OauthPerson>
}

/** Reports that a provider was linked or unlinked, in case someone else did it. */
export interface AccountEmail {
  readonly kind: 'account-linked' | 'account-unlinked'
  readonly to: string
  readonly user: EmailUser
  /** The name of the provider in `providers`. */
  readonly provider: string
}

/** The options of `oauth()`. */
export interface OauthOptions<Name extends string = string> {
  /** By name, which is in the callback URL and in the table `account`: never change it. */
  readonly providers: { readonly [Provider in Name]?: OauthProviderOptions | undefined }
  /**
   * URLs to which a sign-in may return, other than pages of `baseUrl`: compared as a whole. Such as the deep
   * link of an app, `com.example.app:/signed-in`. @default none
   */
  readonly redirects?: readonly string[]
  /** The page for a callback that belongs to no sign-in. @default '/' */
  readonly errorTo?: string
  /** Sends the notices. @default none are sent */
  readonly sendEmail?: (email: AccountEmail) => Promise<unknown>
  readonly limits?: Partial<OauthLimits>
}
