import * as client from 'openid-client'
import * as z from 'zod/mini'
import { ConfigurationError } from '../../protocol/errors.ts'
import { isSecureUrl, requireSecureUrl } from '../../protocol/settings.ts'
import { CREDENTIAL } from '../usable-accounts.ts'
import { oauthError } from './errors.ts'
import type { OauthProviderOptions } from './options.ts'
import { PRESETS, type Preset } from './presets.ts'

const TIMEOUT_SECONDS = 10
const DEFAULT_SCOPES = ['openid', 'email', 'profile']

export interface Provider extends OauthProviderOptions {
  /** Its name in `providers`. */
  readonly id: string
  /** Whether it returns ID tokens. */
  readonly isOpenId: boolean
  readonly scopes: readonly string[]
  /** The message of an error for `createAuth` if a setting is missing. */
  readonly missing: string | null
  /** Discovers the metadata once. @throws EndpointError `PROVIDER_UNAVAILABLE` */
  connect(): Promise<client.Configuration>
}

/** @throws ConfigurationError naming what is invalid */
export function createProvider(id: string, options: OauthProviderOptions): Provider {
  if (!/^[a-z0-9-]{1,40}$/.test(id) || id === CREDENTIAL)
    throw new ConfigurationError(
      `oauth: ${id} isn't a valid name. Use lower-case letters, digits, and dashes.`,
    )
  const preset: Preset = (Object.hasOwn(PRESETS, id) ? PRESETS[id] : undefined) ?? {}
  const merged = { ...preset, ...options }
  const { authorizationEndpoint, tokenEndpoint, userInfoEndpoint, issuer, clientId } = merged
  const isOpenId = authorizationEndpoint === undefined
  const urls = isOpenId ? { issuer } : { authorizationEndpoint, tokenEndpoint, userInfoEndpoint }
  for (const [name, url] of Object.entries(urls)) {
    if (url) requireSecureUrl(`oauth: providers.${id}.${name}`, url)
  }
  let connected: Promise<client.Configuration> | undefined
  return {
    ...merged,
    id,
    isOpenId,
    scopes: merged.scopes ?? (isOpenId ? DEFAULT_SCOPES : []),
    missing: missingSetting(id, urls, { clientId, clientSecret: merged.clientSecret }),
    connect() {
      connected ??= configure(merged, preset).catch((cause: unknown) => {
        // The next sign-in tries again.
        connected = undefined
        throw oauthError('PROVIDER_UNAVAILABLE', { cause })
      })
      return connected
    },
  }
}

function missingSetting(
  id: string,
  urls: Readonly<Record<string, string | undefined>>,
  secrets: Readonly<Record<string, unknown>>,
): string | null {
  const [url, secret] = [urls, secrets].map((values) => Object.keys(values).find((name) => !values[name]))
  if (url !== undefined)
    return `oauth: providers.${id} needs ${url}. Only ${Object.keys(PRESETS).join(', ')} are presets.`
  return secret === undefined ? null : `oauth: providers.${id}.${secret} is missing. Set it.`
}

async function configure(options: OauthProviderOptions, { repair }: Preset): Promise<client.Configuration> {
  const { issuer, authorizationEndpoint, tokenEndpoint, userInfoEndpoint, clientId } = options
  const isLocal = [issuer, authorizationEndpoint, tokenEndpoint].some((url) => url?.startsWith('http:'))
  // `requireSecureUrl` has checked that plain http is on this machine.
  const execute = [client.enableNonRepudiationChecks, ...(isLocal ? [client.allowInsecureRequests] : [])]
  const authenticate = clientAuthentication(options)
  if (authorizationEndpoint === undefined) {
    const settings = { execute, timeout: TIMEOUT_SECONDS }
    const config = await client.discovery(new URL(issuer ?? ''), clientId, undefined, authenticate, settings)
    if (repair !== undefined) config[client.customFetch] = fetchRepaired(repair)
    requireSecureMetadata(config)
    return config
  }
  const metadata: client.ServerMetadata = {
    issuer: issuer ?? new URL(authorizationEndpoint).origin,
    authorization_endpoint: authorizationEndpoint,
    ...(tokenEndpoint && { token_endpoint: tokenEndpoint }),
    ...(userInfoEndpoint && { userinfo_endpoint: userInfoEndpoint }),
  }
  const config = new client.Configuration(metadata, clientId, undefined, authenticate)
  config.timeout = TIMEOUT_SECONDS
  // Nothing checks its nonce and its signature, so nothing may read it.
  config[client.customFetch] = fetchRepaired(({ id_token: _unchecked, ...tokens }) => tokens)
  if (isLocal) client.allowInsecureRequests(config)
  return config
}

/** The token endpoint is the only one that we post to. */
function fetchRepaired(repair: NonNullable<Preset['repair']>): client.CustomFetch {
  return async (url, { body, ...options }) => {
    const sent = body instanceof Uint8Array ? new Uint8Array(body) : (body ?? null)
    const response = await fetch(url, { ...options, body: sent })
    if (!response.ok || options.method !== 'POST') return response
    const tokens = z.parse(z.record(z.string(), z.unknown()), await response.json())
    return Response.json(repair(tokens), { status: response.status })
  }
}

/** A local provider may use http, but no other host that its metadata name. */
function requireSecureMetadata(config: client.Configuration): void {
  const { authorization_endpoint, token_endpoint, userinfo_endpoint, jwks_uri } = config.serverMetadata()
  for (const url of [authorization_endpoint, token_endpoint, userinfo_endpoint, jwks_uri])
    if (url !== undefined && !isSecureUrl(new URL(url)))
      throw new Error(`The provider uses plain http: ${url}`)
}

function clientAuthentication({
  clientSecret,
  clientAuthentication,
}: OauthProviderOptions): client.ClientAuth {
  const create = clientAuthentication === 'basic' ? client.ClientSecretBasic : client.ClientSecretPost
  if (typeof clientSecret === 'string') return create(clientSecret)
  return async (...request) => create(await clientSecret())(...request)
}
