import { type CookieNames, cookieNames } from './cookie.ts'
import { ConfigurationError } from './errors.ts'
import { createIdentityCache, type IdentityCache } from './jwt/identity-cache.ts'
import { JWT_TYPE, type TrustedIssuer } from './jwt/trusted-issuer.ts'
import type { KeySet } from './keys/key-set.ts'
import { COOKIE_PREFIX, JWT_LIFETIME_SECONDS, SESSION_LIFETIME_SECONDS } from './protocol.ts'
import { LOOKUP_TIMEOUT_MS } from './session/deadline.ts'

/** What {@link defineAuthConfig} takes. */
export interface AuthConfigOptions {
  /** Where the app is reached, such as `https://app.example.com`. Its origin is the issuer and audience of our JWTs. */
  baseUrl: string
  /** The public keys: `staticJwks(env.JWKS)` or `dynamicJwks(url)`. */
  jwks: KeySet
  /** Issuers besides ourselves whose tokens Step 1 accepts. Step 2 then asks our database as ever. */
  trustedIssuers?: readonly TrustedIssuer[]
  /** Further origins whose pages may use the cookies, such as `https://admin.example.com`. No wildcards. */
  allowedOrigins?: readonly string[]
  /**
   * Accept `Authorization: Bearer` and the WebSocket connection parameter `token`, and return the JWT from the token
   * endpoint.
   * @default false
   */
  bearer?: boolean
  /** @default 'service' */
  cookiePrefix?: string
  jwt?: {
    /** Lifetime in seconds. @default 900 */
    expiresInSeconds?: number
    /** Most verified tokens that are remembered. @default 10_000 */
    cacheSize?: number
  }
  session?: {
    /** Lifetime in seconds. @default 2_592_000 (30 days) */
    expiresInSeconds?: number
    /** Milliseconds after which a lookup that has not answered is given up with 503. @default 2_000 */
    lookupTimeoutMs?: number
  }
  /** The clock, for tests. @default () => new Date() */
  now?: () => Date
}

/** The settings that every door reads. Light: holds no private key, no database and no plugin. */
export interface AuthConfig {
  readonly baseUrl: string
  readonly issuer: string
  readonly audience: string
  /** Whether the base URL is https; decides `Secure` and `__Host-`. */
  readonly secure: boolean
  readonly allowedOrigins: ReadonlySet<string>
  readonly bearer: boolean
  readonly cookies: CookieNames
  /** Ourselves, then the trusted issuers. */
  readonly issuers: readonly [TrustedIssuer, ...TrustedIssuer[]]
  readonly jwtLifetimeSeconds: number
  readonly sessionLifetimeSeconds: number
  readonly lookupTimeoutMs: number
  /** Tokens whose signature has been verified. Skips the signature only, never Step 2. */
  readonly identityCache: IdentityCache
  readonly now: () => Date
}

/**
 * Checks the settings and fills in the defaults.
 *
 * @example export const authConfig = defineAuthConfig({ baseUrl: env.BASE_URL, jwks: staticJwks(env.JWKS) })
 * @throws ConfigurationError naming the setting that cannot work.
 */
export function defineAuthConfig(options: AuthConfigOptions): AuthConfig {
  const origin = parseOrigin('baseUrl', options.baseUrl)
  const secure = origin.startsWith('https:')
  const prefix = options.cookiePrefix ?? COOKIE_PREFIX
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(prefix)) {
    throw new ConfigurationError('cookiePrefix must be 1 to 64 letters, digits, dots, dashes or underscores')
  }
  const issuers = withTrusted(
    { issuer: origin, audience: origin, typ: JWT_TYPE, jwks: options.jwks, claims: OWN_CLAIMS },
    options.trustedIssuers ?? [],
  )
  return {
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    issuer: origin,
    audience: origin,
    secure,
    allowedOrigins: new Set([origin, ...(options.allowedOrigins ?? []).map(parseListedOrigin)]),
    bearer: options.bearer ?? false,
    cookies: cookieNames(prefix, secure),
    issuers,
    jwtLifetimeSeconds: positive(
      'jwt.expiresInSeconds',
      options.jwt?.expiresInSeconds ?? JWT_LIFETIME_SECONDS,
    ),
    sessionLifetimeSeconds: positive(
      'session.expiresInSeconds',
      options.session?.expiresInSeconds ?? SESSION_LIFETIME_SECONDS,
    ),
    lookupTimeoutMs: positive(
      'session.lookupTimeoutMs',
      options.session?.lookupTimeoutMs ?? LOOKUP_TIMEOUT_MS,
    ),
    identityCache: createIdentityCache(positive('jwt.cacheSize', options.jwt?.cacheSize ?? 10_000)),
    now: options.now ?? (() => new Date()),
  }
}

const OWN_CLAIMS = { userId: 'userId', sessionId: 'sessionId' }

function withTrusted(
  own: TrustedIssuer,
  others: readonly TrustedIssuer[],
): [TrustedIssuer, ...TrustedIssuer[]] {
  const names = [own, ...others].map(({ issuer }) => issuer)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new ConfigurationError(`trustedIssuers: ${repeated} is declared twice`)
  return [own, ...others]
}

function parseOrigin(setting: string, value: string): string {
  const url = URL.parse(value)
  // A wildcard is a valid host name to the URL parser, and equals no origin.
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname.includes('*')) {
    throw new ConfigurationError(`${setting} must be an http or https URL, such as https://app.example.com`)
  }
  return url.origin
}

function parseListedOrigin(value: string): string {
  const origin = parseOrigin('allowedOrigins', value)
  if (origin !== value)
    throw new ConfigurationError(`allowedOrigins: write ${origin}, without path or trailing slash`)
  return origin
}

function positive(setting: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new ConfigurationError(`${setting} must be a positive whole number`)
}
