import * as z from 'zod/mini'
import type { OauthPerson, OauthProfile, OauthProviderOptions } from './options.ts'

export type TokenFields = Readonly<Record<string, unknown>>

export interface Preset extends Partial<OauthProviderOptions> {
  /** Repairs a response of the token endpoint that doesn't conform to the standard. */
  readonly repair?: (tokens: TokenFields) => TokenFields
}

/**
 * Google, Apple, Microsoft, GitLab, and Twitch are OpenID providers. GitHub, Discord, LinkedIn, Facebook, and
 * Spotify are OAuth 2 providers. Tests run them against a local provider only.
 */
export const PRESETS: Readonly<Record<string, Preset>> = {
  google: { issuer: 'https://accounts.google.com', parameters: { access_type: 'offline' } },
  github: {
    issuer: 'https://github.com/login/oauth',
    authorizationEndpoint: 'https://github.com/login/oauth/authorize',
    tokenEndpoint: 'https://github.com/login/oauth/access_token',
    userInfoEndpoint: 'https://api.github.com/user',
    scopes: ['read:user', 'user:email'],
    readPerson: readGitHub,
  },
  discord: {
    authorizationEndpoint: 'https://discord.com/oauth2/authorize',
    tokenEndpoint: 'https://discord.com/api/oauth2/token',
    userInfoEndpoint: 'https://discord.com/api/users/@me',
    scopes: ['identify', 'email'],
    readPerson: readDiscord,
  },
  apple: {
    issuer: 'https://appleid.apple.com',
    scopes: ['openid', 'name', 'email'],
    responseMode: 'form_post',
    pkce: false,
    // Apple writes the flag as a boolean or as text.
    readPerson: ({ claims }) => ({ ...standard(claims), emailVerified: isTrue(claims.email_verified) }),
  },
  microsoft: {
    issuer: 'https://login.microsoftonline.com/common/v2.0',
    // A tenant can set any email. Only the optional claim `xms_edov` says that its domain is verified.
    readPerson: ({ claims }) => ({ ...standard(claims), emailVerified: isTrue(claims.xms_edov) }),
  },
  gitlab: { issuer: 'https://gitlab.com' },
  linkedin: {
    issuer: 'https://www.linkedin.com/oauth',
    authorizationEndpoint: 'https://www.linkedin.com/oauth/v2/authorization',
    tokenEndpoint: 'https://www.linkedin.com/oauth/v2/accessToken',
    userInfoEndpoint: 'https://api.linkedin.com/v2/userinfo',
    scopes: ['openid', 'profile', 'email'],
    // Its ID tokens have no nonce, and it accepts PKCE for native apps only.
    pkce: false,
  },
  facebook: {
    authorizationEndpoint: 'https://www.facebook.com/dialog/oauth',
    tokenEndpoint: 'https://graph.facebook.com/oauth/access_token',
    userInfoEndpoint: 'https://graph.facebook.com/me?fields=id,name,email,picture',
    scopes: ['public_profile', 'email'],
    readPerson: readFacebook,
  },
  spotify: {
    authorizationEndpoint: 'https://accounts.spotify.com/authorize',
    tokenEndpoint: 'https://accounts.spotify.com/api/token',
    userInfoEndpoint: 'https://api.spotify.com/v1/me',
    clientAuthentication: 'basic',
    scopes: ['user-read-email'],
    readPerson: readSpotify,
  },
  twitch: {
    issuer: 'https://id.twitch.tv/oauth2',
    scopes: ['openid', 'user:read:email'],
    parameters: {
      claims: JSON.stringify({
        id_token: { email: null, email_verified: null, picture: null, preferred_username: null },
      }),
    },
    readPerson: ({ claims }) => ({ ...standard(claims), name: text(claims.preferred_username) }),
    repair: joinScopes,
  },
}

/** Reads the standard claims (OpenID Connect Core 1.0 section 5.1). */
export function standard(claims: Readonly<Record<string, unknown>>): OauthPerson {
  return {
    accountId: idOf(claims.sub),
    name: text(claims.name),
    email: text(claims.email),
    emailVerified: claims.email_verified === true,
    image: text(claims.picture),
  }
}

const gitHubEmails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

/** The profile has only a public email, which isn't the verified one. */
async function readGitHub({ claims, get }: OauthProfile): Promise<OauthPerson> {
  const emails = z.parse(gitHubEmails, await get('emails'))
  const primary = emails.find((email) => email.primary)
  return {
    accountId: idOf(claims.id),
    name: text(claims.name) ?? text(claims.login),
    email: primary?.email,
    emailVerified: primary?.verified,
    image: text(claims.avatar_url),
  }
}

function readDiscord({ claims }: OauthProfile): OauthPerson {
  const [accountId, avatar] = [idOf(claims.id), text(claims.avatar)]
  return {
    accountId,
    name: text(claims.global_name) ?? text(claims.username),
    email: text(claims.email),
    emailVerified: claims.verified === true,
    image: avatar && `https://cdn.discordapp.com/avatars/${accountId}/${avatar}.png`,
  }
}

const facebookPicture = z.object({ data: z.object({ url: z.string() }) })

/** Facebook doesn't say whether an email is verified. */
function readFacebook({ claims }: OauthProfile): OauthPerson {
  const { data: picture } = z.safeParse(facebookPicture, claims.picture)
  return {
    accountId: idOf(claims.id),
    name: text(claims.name),
    email: text(claims.email),
    image: picture?.data.url,
  }
}

/** Spotify says that it doesn't verify emails. */
function readSpotify({ claims }: OauthProfile): OauthPerson {
  const { data: images } = z.safeParse(z.array(z.object({ url: z.string() })), claims.images)
  return {
    accountId: idOf(claims.id),
    name: text(claims.display_name),
    email: text(claims.email),
    image: images?.[0]?.url,
  }
}

/** Twitch returns `scope` as an array, where RFC 6749 section 5.1 wants text. */
function joinScopes({ scope, ...tokens }: TokenFields): TokenFields {
  return Array.isArray(scope) ? { ...tokens, scope: scope.join(' ') } : { ...tokens, scope }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Some providers have numbers. Anything else becomes an empty id, which is rejected. */
function idOf(value: unknown): string {
  return Number.isSafeInteger(value) ? String(value) : (text(value) ?? '')
}

function isTrue(value: unknown): boolean {
  return value === true || value === 'true' || value === 1 || value === '1'
}
