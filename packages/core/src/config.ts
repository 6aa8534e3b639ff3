import type { EventListener } from './events/event.ts'
import { createIdentityCache, type IdentityCache } from './jwt/identity-cache.ts'
import { DEFAULT_MAX_AGE_SECONDS, JWT_TYPE, type TrustedIssuer } from './jwt/trusted-issuer.ts'
import type { KeySet } from './keys/key-set.ts'
import { LOOKUP_TIMEOUT_MS } from './protocol/deadline.ts'
import { ConfigurationError } from './protocol/errors.ts'
import { isSecureUrl, requirePositive } from './protocol/settings.ts'
import { COOKIE_PREFIX, JWT_LIFETIME_SECONDS, SESSION_LIFETIME_SECONDS } from './protocol.ts'
import { type CookieNames, cookieNames } from './request/cookie.ts'
import type { SessionLifetimes } from './session/lifetime.ts'

const DAY_SECONDS = 24 * 60 * 60
const FRESH_SECONDS = 15 * 60
const DEFAULT_ABSOLUTE_LIFETIME_SECONDS = 180 * DAY_SECONDS
/** A hundred years: what is longer may end beyond the last date. */
const LONGEST_SECONDS = 100 * 365 * DAY_SECONDS

/** What {@link defineAuthConfig} takes. */
export interface AuthConfigOptions {
  /** Where the app is reached, such as `https://app.example.com`. Its origin is the issuer and audience of our JWTs. */
  baseUrl: string
  /** The public keys: `staticJwks(env.JWKS)` or `dynamicJwks(url)`. */
  jwks: KeySet
  /** Issuers besides ourselves whose tokens Step 1 accepts. Step 2 then asks our database as ever. */
  trustedIssuers?: readonly TrustedIssuer[]
  /**
   * Further origins whose pages may use the cookies, such as `https://admin.example.com`. No wildcards. In
   * development, with a base URL such as `http://localhost:3000`, the other names of this machine are allowed
   * with the same port: `127.0.0.1` and `[::1]`.
   */
  allowedOrigins?: readonly string[]
  /**
   * Allow `http:` in `baseUrl` and `allowedOrigins` in production for hosts other than this machine. Cookies
   * and passwords then cross the network in clear. Without it, that is a `ConfigurationError` when `NODE_ENV`
   * is `production`.
   * @default false
   */
  allowInsecure?: boolean
  /**
   * Accept `Authorization: Bearer` and the WebSocket connection parameter `token`, and take the header `x-sallyport-session` for the session
   * cookie: the answers to it have the JWT and the session token in their body, and no cookie.
   * @default false
   */
  bearer?: boolean
  /**
   * Addresses or ranges of our own proxies, or `loopback`, `linklocal`, `uniquelocal`. Their `X-Forwarded-For` says who the client is;
   * nobody else's is read.
   * @default []
   */
  trustedProxies?: readonly string[]
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
    /** A session in use is extended once this many seconds have passed since it was last. @default 86_400 (1 day) */
    renewAfterSeconds?: number
    /** Lifetime of a session that is not to be remembered, in seconds. @default 86_400 (1 day) */
    unrememberedExpiresInSeconds?: number
    /**
     * A session ends this many seconds after the sign-in, however much it is used. `Infinity` for no limit.
     * @default 15_552_000 (180 days)
     */
    absoluteLifetimeSeconds?: number
    /** A session ends when it has not been used for this long, in seconds; more than a JWT lives. @default none */
    idleTimeoutSeconds?: number
    /** Most sessions of one user at a time. @default none */
    maxSessionsPerUser?: number
    /** What becomes of a sign-in when there are as many. @default 'evict-oldest' */
    whenFull?: 'evict-oldest' | 'reject'
    /** Change the secret in the session cookie at every refresh. One that is used again later ends the session. @default false */
    rotateSessionToken?: boolean
    /** Changes such as deleting the account need a sign-in no longer ago than this, in seconds. @default 900 */
    freshForSeconds?: number
  }
  /** Hears of sign-ins, revocations, bans and refusals; see {@link AuthEvent}. */
  onEvent?: EventListener
  /** The clock, for tests. @default () => new Date() */
  now?: () => Date
}

/** The settings that every door reads. Light: holds no private key, no database and no plugin. */
export interface AuthConfig {
  /** Where the app is reached, without a slash at the end. */
  readonly baseUrl: string
  /** The claim `iss` of our JWTs. */
  readonly issuer: string
  /** The claim `aud` of our JWTs. */
  readonly audience: string
  /** Whether the base URL is https; decides `Secure` and `__Host-`. */
  readonly secure: boolean
  /** Origins whose pages may use the cookies, our own among them. */
  readonly allowedOrigins: ReadonlySet<string>
  /** Whether credentials in headers count. */
  readonly bearer: boolean
  /** What the cookies are called. */
  readonly cookies: CookieNames
  /** Ourselves, then the trusted issuers. */
  readonly issuers: readonly [TrustedIssuer, ...TrustedIssuer[]]
  readonly jwtLifetimeSeconds: number
  readonly sessionLifetimeSeconds: number
  /** Milliseconds after which a lookup of Step 2 is given up with 503. */
  readonly lookupTimeoutMs: number
  /** When sessions end. */
  readonly lifetimes: SessionLifetimes
  /** `Infinity` where there is no limit. */
  readonly maxSessionsPerUser: number
  readonly whenFull: 'evict-oldest' | 'reject'
  readonly rotateSessionToken: boolean
  readonly freshForSeconds: number
  /** Checked where addresses are read. */
  readonly trustedProxies: readonly string[]
  readonly onEvent: EventListener | undefined
  /** Tokens whose signature has been verified. Skips the signature only, never Step 2. */
  readonly identityCache: IdentityCache
  /** The clock. */
  readonly now: () => Date
}

/**
 * Checks the settings and fills in the defaults.
 *
 * @example export const authConfig = defineAuthConfig({ baseUrl: env.BASE_URL, jwks: staticJwks(env.JWKS) })
 * @throws ConfigurationError naming the setting that cannot work.
 */
export function defineAuthConfig(options: AuthConfigOptions): AuthConfig {
  const { allowInsecure = false, allowedOrigins = [] } = options
  const origin = parseOrigin('baseUrl', options.baseUrl, { allowInsecure })
  const secure = origin.startsWith('https:')
  const prefix = options.cookiePrefix ?? COOKIE_PREFIX
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(prefix)) {
    throw new ConfigurationError('cookiePrefix must be 1 to 64 letters, digits, dots, dashes or underscores')
  }
  const issuers = withTrusted(
    { issuer: origin, audience: origin, typ: JWT_TYPE, jwks: options.jwks, claims: OWN_CLAIMS },
    options.trustedIssuers ?? [],
  )
  const { session = {} } = options
  const jwtLifetimeSeconds = requirePositive(
    'jwt.expiresInSeconds',
    options.jwt?.expiresInSeconds ?? JWT_LIFETIME_SECONDS,
    LONGEST_SECONDS,
  )
  const lifetimes = sessionLifetimes(session, jwtLifetimeSeconds)
  return {
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    issuer: origin,
    audience: origin,
    secure,
    allowedOrigins: new Set([
      origin,
      ...loopbackOrigins(origin),
      ...allowedOrigins.map((listed) => parseListedOrigin(listed, { allowInsecure })),
    ]),
    bearer: options.bearer ?? false,
    cookies: cookieNames(prefix, secure),
    issuers,
    jwtLifetimeSeconds,
    sessionLifetimeSeconds: lifetimes.expiresInSeconds,
    lookupTimeoutMs: requirePositive('session.lookupTimeoutMs', session.lookupTimeoutMs ?? LOOKUP_TIMEOUT_MS),
    lifetimes,
    maxSessionsPerUser: positiveOrNone('session.maxSessionsPerUser', session.maxSessionsPerUser),
    whenFull: oneOf('session.whenFull', session.whenFull ?? 'evict-oldest', ['evict-oldest', 'reject']),
    rotateSessionToken: oneOf('session.rotateSessionToken', session.rotateSessionToken ?? false, [
      true,
      false,
    ]),
    freshForSeconds: requirePositive('session.freshForSeconds', session.freshForSeconds ?? FRESH_SECONDS),
    trustedProxies: options.trustedProxies ?? [],
    onEvent: options.onEvent,
    identityCache: createIdentityCache(requirePositive('jwt.cacheSize', options.jwt?.cacheSize ?? 10_000)),
    now: options.now ?? (() => new Date()),
  }
}

function sessionLifetimes(
  session: NonNullable<AuthConfigOptions['session']>,
  jwtLifetimeSeconds: number,
): SessionLifetimes {
  const idleTimeoutSeconds = positiveOrNone('session.idleTimeoutSeconds', session.idleTimeoutSeconds)
  // A session in use is seen only when its JWT is refreshed.
  if (idleTimeoutSeconds <= jwtLifetimeSeconds) {
    throw new ConfigurationError(
      `session.idleTimeoutSeconds must be more than the ${jwtLifetimeSeconds} s that a JWT lives`,
    )
  }
  return {
    expiresInSeconds: requirePositive(
      'session.expiresInSeconds',
      session.expiresInSeconds ?? SESSION_LIFETIME_SECONDS,
      LONGEST_SECONDS,
    ),
    unrememberedExpiresInSeconds: requirePositive(
      'session.unrememberedExpiresInSeconds',
      session.unrememberedExpiresInSeconds ?? DAY_SECONDS,
      LONGEST_SECONDS,
    ),
    absoluteLifetimeSeconds: positiveOrNone(
      'session.absoluteLifetimeSeconds',
      session.absoluteLifetimeSeconds ?? DEFAULT_ABSOLUTE_LIFETIME_SECONDS,
    ),
    idleTimeoutSeconds,
    renewAfterSeconds: requirePositive('session.renewAfterSeconds', session.renewAfterSeconds ?? DAY_SECONDS),
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
  for (const { issuer, maxAgeSeconds = DEFAULT_MAX_AGE_SECONDS } of others)
    requirePositive(`trustedIssuers: maxAgeSeconds of ${issuer}`, maxAgeSeconds, LONGEST_SECONDS)
  return [own, ...others]
}

interface OriginRules {
  readonly allowInsecure: boolean
}

function parseOrigin(setting: string, value: string, { allowInsecure }: OriginRules): string {
  const url = URL.parse(value)
  // A wildcard is a valid host name to the URL parser, and equals no origin.
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname.includes('*')) {
    throw new ConfigurationError(`${setting} must be an http or https URL, such as https://app.example.com`)
  }
  if (!allowInsecure && !isSecureUrl(url) && isProduction()) {
    throw new ConfigurationError(
      `${setting}: ${url.origin} must be https in production. Set allowInsecure: true only on a network that you trust.`,
    )
  }
  return url.origin
}

/**
 * Some edge runtimes have no `process`. Their bundlers replace `process.env.NODE_ENV`, so the expression
 * stays as it is.
 */
function isProduction(): boolean {
  try {
    return process.env.NODE_ENV === 'production'
  } catch {
    return false
  }
}

/**
 * In development, the same page under the other names of this machine. Elsewhere another program may listen
 * there.
 */
function loopbackOrigins(origin: string): string[] {
  const { protocol, hostname } = new URL(origin)
  if (isProduction() || protocol !== 'http:' || !LOOPBACK_NAMES.includes(hostname)) return []
  return LOOPBACK_NAMES.map((name) => origin.replace(hostname, name))
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

function parseListedOrigin(value: string, rules: OriginRules): string {
  const origin = parseOrigin('allowedOrigins', value, rules)
  if (origin !== value)
    throw new ConfigurationError(`allowedOrigins: write ${origin}, without path or trailing slash`)
  return origin
}

function positiveOrNone(setting: string, value = Number.POSITIVE_INFINITY): number {
  return value === Number.POSITIVE_INFINITY ? value : requirePositive(setting, value, LONGEST_SECONDS)
}

function oneOf<Value>(setting: string, value: Value, allowed: readonly Value[]): Value {
  if (allowed.includes(value)) return value
  throw new ConfigurationError(`${setting} must be ${allowed.join(' or ')}`)
}
