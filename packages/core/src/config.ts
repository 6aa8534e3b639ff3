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
const DEFAULT_FRESH_SECONDS = 15 * 60
/** A hundred years. Longer lifetimes could end after the last date. */
const MAX_SECONDS = 100 * 365 * DAY_SECONDS

/** Options of {@link defineAuthConfig}. */
export interface AuthConfigOptions {
  /** The URL of the app, such as `https://app.example.com`. Its origin is the JWT issuer and audience. */
  baseUrl: string
  /** The public keys: `staticJwks(env.JWKS)` or `dynamicJwks(url)`. */
  jwks: KeySet
  /** Other issuers whose tokens Step 1 accepts. Step 2 still queries our database. */
  trustedIssuers?: readonly TrustedIssuer[]
  /**
   * Other origins whose pages may use the cookies, without wildcards. If `baseUrl` is `http:` on this
   * machine, its other names (`localhost`, `127.0.0.1`, `[::1]`) are allowed too, except in production.
   */
  allowedOrigins?: readonly string[]
  /**
   * Allow `http:` in production for hosts other than this machine, where it's a `ConfigurationError`. Cookies
   * and passwords then cross the network in clear. @default false
   */
  allowInsecure?: boolean
  /**
   * Accept `Authorization: Bearer`, the WebSocket connection parameter `token`, and `x-sallyport-session`
   * instead of cookies. Responses to that header have the tokens in their body. @default false
   */
  bearer?: boolean
  /** Proxies whose `X-Forwarded-For` is read: addresses, ranges, or names such as `loopback`. @default [] */
  trustedProxies?: readonly string[]
  /** @default 'service' */
  cookiePrefix?: string
  jwt?: {
    /** Lifetime in seconds. @default 900 */
    expiresInSeconds?: number
    /** The maximum number of verified tokens in the cache. @default 10_000 */
    cacheSize?: number
  }
  session?: {
    /** Lifetime in seconds. @default 2_592_000 (30 days) */
    expiresInSeconds?: number
    /** Milliseconds after which a lookup fails with 503. @default 2_000 */
    lookupTimeoutMs?: number
    /** Extend a session in use this many seconds after it was last extended. @default 86_400 (1 day) */
    renewAfterSeconds?: number
    /** Lifetime in seconds if the user chose not to be remembered. @default 86_400 (1 day) */
    unrememberedExpiresInSeconds?: number
    /** End a session this many seconds after the sign-in, or `Infinity`. @default 15_552_000 (180 days) */
    absoluteLifetimeSeconds?: number
    /** End a session after this many seconds without use; more than a JWT lives. @default none */
    idleTimeoutSeconds?: number
    /** The maximum number of sessions of one user. @default none */
    maxSessionsPerUser?: number
    /** What happens to a sign-in at that maximum. @default 'evict-oldest' */
    whenFull?: 'evict-oldest' | 'reject'
    /** Change the session secret at every refresh. A replayed one ends the session. @default false */
    rotateSessionToken?: boolean
    /** Seconds after a sign-in in which changes such as deleting the account are allowed. @default 900 */
    freshForSeconds?: number
  }
  /** Receives sign-ins, revocations, bans, and rejections; see {@link AuthEvent}. */
  onEvent?: EventListener
  /** The clock, for tests. @default () => new Date() */
  now?: () => Date
}

/** The settings that both steps read, without private keys, database, or plugins. */
export interface AuthConfig {
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly issuer: string
  readonly audience: string
  /** Whether the base URL is https, for `Secure` and `__Host-`. */
  readonly secure: boolean
  /** Origins whose pages may use the cookies, including our own. */
  readonly allowedOrigins: ReadonlySet<string>
  readonly bearer: boolean
  readonly cookies: CookieNames
  /** We, then the trusted issuers. */
  readonly issuers: readonly [TrustedIssuer, ...TrustedIssuer[]]
  readonly jwtLifetimeSeconds: number
  readonly sessionLifetimeSeconds: number
  readonly lookupTimeoutMs: number
  readonly lifetimes: SessionLifetimes
  /** `Infinity` for no limit. */
  readonly maxSessionsPerUser: number
  readonly whenFull: 'evict-oldest' | 'reject'
  readonly rotateSessionToken: boolean
  readonly freshForSeconds: number
  /** Unchecked: invalid entries are an error where addresses are read. */
  readonly trustedProxies: readonly string[]
  readonly onEvent: EventListener | undefined
  /** Skips the signature of verified tokens, never Step 2. */
  readonly identityCache: IdentityCache
  readonly now: () => Date
}

/**
 * Checks the settings and fills in the defaults.
 *
 * @example export const authConfig = defineAuthConfig({ baseUrl: env.BASE_URL, jwks: staticJwks(env.JWKS) })
 * @throws ConfigurationError naming the invalid setting
 */
export function defineAuthConfig(options: AuthConfigOptions): AuthConfig {
  const origin = parseOrigin('baseUrl', options.baseUrl, options)
  const secure = origin.startsWith('https:')
  const prefix = options.cookiePrefix ?? COOKIE_PREFIX
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(prefix))
    throw new ConfigurationError('cookiePrefix must be 1 to 64 letters, digits, dots, dashes or underscores')
  const { jwks, trustedIssuers = [], jwt = {}, session = {} } = options
  const own = { issuer: origin, audience: origin, typ: JWT_TYPE, jwks, claims: OWN_CLAIMS }
  const { expiresInSeconds: jwtSeconds = JWT_LIFETIME_SECONDS, cacheSize = 10_000 } = jwt
  const jwtLifetimeSeconds = requirePositive('jwt.expiresInSeconds', jwtSeconds, MAX_SECONDS)
  const lifetimes = sessionLifetimes(session, jwtLifetimeSeconds)
  const { freshForSeconds = DEFAULT_FRESH_SECONDS, lookupTimeoutMs = LOOKUP_TIMEOUT_MS } = session
  const { whenFull = 'evict-oldest', rotateSessionToken = false } = session
  return {
    baseUrl: options.baseUrl.replace(/\/+$/, ''),
    issuer: origin,
    audience: origin,
    secure,
    allowedOrigins: new Set([
      origin,
      ...loopbackOrigins(origin),
      ...(options.allowedOrigins ?? []).map((listed) => parseListedOrigin(listed, options)),
    ]),
    bearer: options.bearer ?? false,
    cookies: cookieNames(prefix, secure),
    issuers: withTrusted(own, trustedIssuers),
    jwtLifetimeSeconds,
    sessionLifetimeSeconds: lifetimes.expiresInSeconds,
    lookupTimeoutMs: requirePositive('session.lookupTimeoutMs', lookupTimeoutMs),
    lifetimes,
    maxSessionsPerUser: positiveOrNone('session.maxSessionsPerUser', session.maxSessionsPerUser),
    whenFull: oneOf('session.whenFull', whenFull, ['evict-oldest', 'reject']),
    rotateSessionToken: oneOf('session.rotateSessionToken', rotateSessionToken, [true, false]),
    freshForSeconds: requirePositive('session.freshForSeconds', freshForSeconds),
    trustedProxies: options.trustedProxies ?? [],
    onEvent: options.onEvent,
    identityCache: createIdentityCache(requirePositive('jwt.cacheSize', cacheSize)),
    now: options.now ?? (() => new Date()),
  }
}

function sessionLifetimes(
  session: NonNullable<AuthConfigOptions['session']>,
  jwtLifetimeSeconds: number,
): SessionLifetimes {
  const { expiresInSeconds = SESSION_LIFETIME_SECONDS, unrememberedExpiresInSeconds = DAY_SECONDS } = session
  const { absoluteLifetimeSeconds = 180 * DAY_SECONDS, renewAfterSeconds = DAY_SECONDS } = session
  const seconds = (name: keyof typeof session, value: number) =>
    requirePositive(`session.${name}`, value, MAX_SECONDS)
  const idleTimeoutSeconds = positiveOrNone('session.idleTimeoutSeconds', session.idleTimeoutSeconds)
  // Use is only recorded when the JWT is refreshed.
  if (idleTimeoutSeconds <= jwtLifetimeSeconds)
    throw new ConfigurationError(
      `session.idleTimeoutSeconds must be more than the ${jwtLifetimeSeconds} s that a JWT lives`,
    )
  return {
    expiresInSeconds: seconds('expiresInSeconds', expiresInSeconds),
    unrememberedExpiresInSeconds: seconds('unrememberedExpiresInSeconds', unrememberedExpiresInSeconds),
    absoluteLifetimeSeconds: positiveOrNone('session.absoluteLifetimeSeconds', absoluteLifetimeSeconds),
    idleTimeoutSeconds,
    renewAfterSeconds: requirePositive('session.renewAfterSeconds', renewAfterSeconds),
  }
}

const OWN_CLAIMS = { userId: 'userId', sessionId: 'sessionId' }

function withTrusted(own: TrustedIssuer, others: readonly TrustedIssuer[]): AuthConfig['issuers'] {
  const names = [own, ...others].map(({ issuer }) => issuer)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new ConfigurationError(`trustedIssuers: ${repeated} is declared twice`)
  for (const { issuer, maxAgeSeconds = DEFAULT_MAX_AGE_SECONDS } of others)
    requirePositive(`trustedIssuers: maxAgeSeconds of ${issuer}`, maxAgeSeconds, MAX_SECONDS)
  return [own, ...others]
}

function parseOrigin(setting: string, value: string, { allowInsecure = false }: AuthConfigOptions): string {
  const url = URL.parse(value)
  // The URL parser accepts a wildcard as a host name, and no origin equals it.
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname.includes('*'))
    throw new ConfigurationError(`${setting} must be an http or https URL, such as https://app.example.com`)
  if (!allowInsecure && !isSecureUrl(url) && isProduction())
    throw new ConfigurationError(
      `${setting}: ${url.origin} must be https in production. Set allowInsecure: true only on a network that you trust.`,
    )
  return url.origin
}

/** Some edge runtimes have no `process`. Their bundlers replace this exact expression. */
function isProduction(): boolean {
  try {
    return process.env.NODE_ENV === 'production'
  } catch {
    return false
  }
}

/** Only in development: in production, another program could listen under the other names. */
function loopbackOrigins(origin: string): string[] {
  const { protocol, hostname } = new URL(origin)
  if (isProduction() || protocol !== 'http:' || !LOOPBACK_NAMES.includes(hostname)) return []
  return LOOPBACK_NAMES.map((name) => origin.replace(hostname, name))
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

function parseListedOrigin(value: string, options: AuthConfigOptions): string {
  const origin = parseOrigin('allowedOrigins', value, options)
  if (origin !== value)
    throw new ConfigurationError(`allowedOrigins: write ${origin}, without path or trailing slash`)
  return origin
}

function positiveOrNone(setting: string, value = Number.POSITIVE_INFINITY): number {
  return value === Number.POSITIVE_INFINITY ? value : requirePositive(setting, value, MAX_SECONDS)
}

function oneOf<Value>(setting: string, value: Value, allowed: readonly Value[]): Value {
  if (allowed.includes(value)) return value
  throw new ConfigurationError(`${setting} must be ${allowed.join(' or ')}`)
}
