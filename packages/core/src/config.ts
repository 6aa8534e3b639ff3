import type { EventListener } from './events/event.ts'
import type { FailureListener } from './events/failure.ts'
import { reportSource } from './events/failure-source.ts'
import { reportFailure } from './events/report-failure.ts'
import type { Telemetry } from './events/telemetry.ts'
import { createIdentityCache, type IdentityCache } from './jwt/identity-cache.ts'
import type { Proof } from './jwt/proof.ts'
import { DEFAULT_MAX_AGE_SECONDS, JWT_TYPE, type TrustedIssuer } from './jwt/trusted-issuer.ts'
import type { KeySet } from './keys/key-set.ts'
import { LOOKUP_TIMEOUT_MS } from './protocol/deadline.ts'
import { ConfigurationError } from './protocol/errors.ts'
import { checkAll, isSecureUrl, requirePositive } from './protocol/settings.ts'
import { COOKIE_PREFIX, JWT_LIFETIME_SECONDS, SESSION_LIFETIME_SECONDS } from './protocol.ts'
import { type CookieAttributes, type CookieNames, cookieNames } from './request/cookie.ts'
import { requireCookieDomain, requireCookieName, requireCrossSite } from './request/cookie-settings.ts'
import type { SessionLifetimes } from './session/lifetime.ts'
import type { Session, SessionUser } from './session/session.ts'

const DAY_SECONDS = 24 * 60 * 60
/** A hundred years. Longer lifetimes could end after the last valid date. */
const MAX_SECONDS = 100 * 365 * DAY_SECONDS

/** Options of {@link defineAuthConfig}. */
export interface AuthConfigOptions {
  /** The URL of the app, such as `https://app.example.com`. Its origin is the JWT issuer and audience. */
  baseUrl: string
  /** The public keys: `staticJwks(env.JWKS)` or `dynamicJwks(url)`. */
  jwks: KeySet
  /** Replaces the JWT in Step 1, with keys in `jwks`: `...sessionCookieProof(options)` sets both. */
  proof?: Proof | undefined
  /** Other issuers whose tokens Step 1 accepts. Step 2 still queries our database. */
  trustedIssuers?: readonly TrustedIssuer[]
  /**
   * Other origins whose pages may use the cookies, without wildcards. If `baseUrl` is `http:` on this
   * machine, its other names (`localhost`, `127.0.0.1`, `[::1]`) are allowed too, except in production.
   */
  allowedOrigins?: readonly string[]
  /** More request headers that these pages may send, such as `traceparent`. @default our own and tRPC's */
  allowedHeaders?: readonly string[]
  /** More response headers that these pages may read. @default `Retry-After` */
  exposedHeaders?: readonly string[]
  /**
   * Allow `http:` in production for hosts other than this machine, where it's a `ConfigurationError`. Cookies
   * and passwords then cross the network in the clear. @default false
   */
  allowInsecure?: boolean
  /**
   * Accept `Authorization: Bearer`, the WebSocket connection parameter `token`, and `x-sallyport-session`
   * instead of cookies. Responses to that header have the tokens in their body. @default false
   */
  bearer?: boolean
  /**
   * Proxies whose `X-Forwarded-For` is read: addresses, ranges, or names such as `loopback`. `createAuth` and
   * `createAuthContext` reject any other text. @default []
   */
  trustedProxies?: readonly string[]
  /** @default 'service' */
  cookiePrefix?: string
  /**
   * A parent domain of `baseUrl`, such as `example.com`, whose hosts all receive the cookies: for a page on
   * one host that is rendered with the cookies of an API on another. Every host under it can then read and
   * replace them, so all must be as trustworthy as this one. The session cookie loses `__Host-`, so the
   * option signs users out once. If you set or change it in a running app, also change `cookiePrefix`:
   * otherwise, the old cookies cause `COOKIE_CONFLICT`. @default the host of `baseUrl` alone
   */
  cookieDomain?: string
  /**
   * `none` sends the cookies to `baseUrl` from pages of other sites, and adds `Partitioned`: each site whose
   * page calls the API has its own sign-in. Safari still blocks them. The origin check is then the only
   * protection against cross-site requests. Needs https and `allowedOrigins`. As with `cookieDomain`, also
   * change `cookiePrefix`. @default 'lax'
   */
  cookieSameSite?: 'lax' | 'none'
  /**
   * The session cookie of another library that signs users in, such as `__Secure-better-auth.session_token`.
   * JWTs are bound to it: with cookies, a JWT is only valid beside the cookie for which it was issued.
   * @default Sallyport's own
   */
  sessionCookie?: string | undefined
  jwt?: {
    /** Lifetime in seconds. @default 900 */
    expiresInSeconds?: number
    /** The maximum number of verified tokens in the cache. @default 10_000 */
    cacheSize?: number
  }
  session?: Partial<SessionLifetimes> & {
    /** Milliseconds before a lookup fails with 503, unless `openPostgres` has fewer. @default 2_000 */
    lookupTimeoutMs?: number
    /** The maximum number of sessions of a user; `Infinity` for no limit. @default 1_000 */
    maxSessionsPerUser?: number
    /** What happens to a sign-in at that maximum. @default 'evict-oldest' */
    whenFull?: 'evict-oldest' | 'reject'
    /** Change the session secret at every refresh. A replayed secret ends the session. @default false */
    rotateSessionToken?: boolean
    /**
     * Seconds after a sign-in in which changes such as deleting the account are allowed; `Infinity` for no
     * limit. @default 900
     */
    freshForSeconds?: number
  }
  /** Returns the roles of a user for `requireRole`. @default ({ role }) => [role] */
  rolesOf?: RolesOf
  /** Returns the roles of a member for `requireOrganizationRole`. @default (role) => [role] */
  memberRolesOf?: MemberRolesOf
  /** Returns whether a session has permissions, for `requirePermission` of a guard. @default () => false */
  hasPermissions?: HasPermissions
  /** Receives sign-ins, revocations, bans, and rejections; see `AuthEvent`. */
  onEvent?: EventListener
  /**
   * Receives the cause of every 503 and 500, and failures in the background, such as a feed that is down. At
   * most one a minute for each code and path, with the number of the others. @default console.error
   */
  onFailure?: FailureListener
  /** Traces and metrics: `openTelemetry()` from `@sallyport/core/plugins/open-telemetry`. @default none */
  telemetry?: Telemetry | undefined
  /** The clock, for tests. @default () => new Date() */
  now?: () => Date
}

type RolesOf = (user: SessionUser) => readonly string[]
type MemberRolesOf = (role: string) => readonly string[]
type HasPermissions = (session: Session, request: PermissionRequest) => boolean

/** The actions that a caller needs, by resource. */
export type Permissions = Readonly<Record<string, readonly string[]>>

/** The permissions that a call needs, and whose roles must give them. */
export interface PermissionRequest {
  readonly permissions: Permissions
  /** `user`: the roles of the user. `organization`: their roles in the active organization of the session. */
  readonly of: 'user' | 'organization'
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
  readonly allowedHeaders: readonly string[]
  readonly exposedHeaders: readonly string[]
  readonly bearer: boolean
  /** Step 1 for credentials that aren't our JWTs. */
  readonly proof: Proof | undefined
  readonly cookies: CookieNames & CookieAttributes
  /** Also `cookies.session`, if another library signs users in. */
  readonly sessionCookie: string | undefined
  /** This app, then the trusted issuers. */
  readonly issuers: readonly [TrustedIssuer, ...TrustedIssuer[]]
  readonly jwtLifetimeSeconds: number
  readonly lookupTimeoutMs: number
  readonly lifetimes: SessionLifetimes
  /** `Infinity` for no limit. */
  readonly maxSessionsPerUser: number
  readonly whenFull: 'evict-oldest' | 'reject'
  readonly rotateSessionToken: boolean
  readonly freshForSeconds: number
  /** Unchecked: invalid entries are an error where addresses are read. */
  readonly trustedProxies: readonly string[]
  readonly rolesOf: RolesOf
  readonly memberRolesOf: MemberRolesOf
  readonly hasPermissions: HasPermissions
  readonly onEvent: EventListener | undefined
  readonly onFailure: FailureListener | undefined
  readonly telemetry: Telemetry | undefined
  /** Skips the signature of verified tokens, never Step 2. */
  readonly identityCache: IdentityCache
  readonly now: () => Date
}

/**
 * Checks the settings and fills in the defaults. With a function, it does so when a setting is first read, so
 * a build needs no environment variables.
 * @example export const authConfig = defineAuthConfig({ baseUrl: env.BASE_URL, jwks: staticJwks(env.JWKS) })
 * @example
 * export const authConfig = defineAuthConfig(() => {
 *   const { BASE_URL = '', JWKS } = process.env
 *   return { baseUrl: BASE_URL, jwks: staticJwks(JWKS) }
 * })
 * @throws ConfigurationError that lists every invalid setting, one per line
 */
export function defineAuthConfig(options: AuthConfigOptions | (() => AuthConfigOptions)): AuthConfig {
  return typeof options === 'function' ? readLater(() => resolve(options())) : resolve(options)
}

/** Returns a configuration whose first read replaces the getters by values, so later reads cost nothing. */
function readLater(read: () => AuthConfig): AuthConfig {
  const config = {} as AuthConfig
  for (const name of SETTINGS) {
    const get = () => {
      Object.defineProperties(config, Object.getOwnPropertyDescriptors(read()))
      return config[name]
    }
    Object.defineProperty(config, name, { configurable: true, enumerable: true, get })
  }
  return config
}

function resolve(options: AuthConfigOptions): AuthConfig {
  const { baseUrl, jwks, allowedOrigins = [], trustedIssuers = [], jwt = {}, session = {} } = options
  const { cookiePrefix = COOKIE_PREFIX, cookieDomain: domain, cookieSameSite: sameSite = 'lax' } = options
  const { allowedHeaders = [], exposedHeaders = [], sessionCookie } = options
  const { expiresInSeconds: jwtLifetimeSeconds = JWT_LIFETIME_SECONDS, cacheSize = 10_000 } = jwt
  const { freshForSeconds = 15 * 60, lookupTimeoutMs = LOOKUP_TIMEOUT_MS } = session
  const { maxSessionsPerUser = 1_000, whenFull = 'evict-oldest', rotateSessionToken = false } = session
  const { expiresInSeconds = SESSION_LIFETIME_SECONDS, unrememberedExpiresInSeconds = DAY_SECONDS } = session
  const { absoluteLifetimeSeconds = 180 * DAY_SECONDS, idleTimeoutSeconds = NO_LIMIT } = session
  const { renewAfterSeconds = DAY_SECONDS } = session
  const expiry = { expiresInSeconds, unrememberedExpiresInSeconds, absoluteLifetimeSeconds }
  checkAll([
    () => parseOrigin('baseUrl', baseUrl, options),
    ...allowedOrigins.map((listed) => () => parseListedOrigin(listed, options)),
    () => requireHeaderNames('allowedHeaders', allowedHeaders),
    () => requireHeaderNames('exposedHeaders', exposedHeaders),
    ...issuerChecks(URL.parse(baseUrl)?.origin, trustedIssuers),
    () => requireCookieName('cookiePrefix', cookiePrefix),
    () => requireCookieName('sessionCookie', sessionCookie ?? 'none', `${cookiePrefix}.jwt`),
    () => requireCookieDomain(domain, baseUrl),
    () => requireOneOf('cookieSameSite', sameSite, ['lax', 'none']),
    () => requireCrossSite(options),
    () => requirePositive('jwt.expiresInSeconds', jwtLifetimeSeconds, MAX_SECONDS),
    () => requirePositive('jwt.cacheSize', cacheSize),
    () => requirePositive('session.expiresInSeconds', expiresInSeconds, MAX_SECONDS),
    () => requirePositive('session.unrememberedExpiresInSeconds', unrememberedExpiresInSeconds, MAX_SECONDS),
    () => requirePositiveOrNone('session.absoluteLifetimeSeconds', absoluteLifetimeSeconds),
    () => requireIdleTimeout(idleTimeoutSeconds, jwtLifetimeSeconds),
    () => requirePositive('session.renewAfterSeconds', renewAfterSeconds),
    () => requirePositive('session.lookupTimeoutMs', lookupTimeoutMs),
    () => requirePositiveOrNone('session.maxSessionsPerUser', maxSessionsPerUser),
    () => requireOneOf('session.whenFull', whenFull, ['evict-oldest', 'reject']),
    () => requireOneOf('session.rotateSessionToken', rotateSessionToken, [true, false]),
    () => requirePositiveOrNone('session.freshForSeconds', freshForSeconds),
  ])
  const { origin, protocol } = new URL(baseUrl)
  const secure = protocol === 'https:'
  const attributes = { secure, domain, sameSite }
  const names = cookieNames(cookiePrefix, attributes)
  const own = { issuer: origin, audience: origin, typ: JWT_TYPE, jwks, claims: OWN_CLAIMS }
  const config: AuthConfig = {
    baseUrl: baseUrl.replace(/\/+$/, ''),
    issuer: origin,
    audience: origin,
    secure,
    allowedOrigins: new Set([origin, ...loopbackOrigins(origin), ...allowedOrigins]),
    allowedHeaders,
    exposedHeaders,
    bearer: options.bearer ?? false,
    proof: options.proof,
    cookies: { ...names, ...attributes, session: sessionCookie ?? names.session },
    sessionCookie,
    issuers: [own, ...trustedIssuers],
    jwtLifetimeSeconds,
    lookupTimeoutMs,
    lifetimes: { ...expiry, idleTimeoutSeconds, renewAfterSeconds },
    maxSessionsPerUser,
    whenFull,
    rotateSessionToken,
    freshForSeconds,
    trustedProxies: options.trustedProxies ?? [],
    rolesOf: options.rolesOf ?? roleOf,
    memberRolesOf: options.memberRolesOf ?? memberRoleOf,
    hasPermissions: options.hasPermissions ?? hasNone,
    onEvent: options.onEvent && reporting(options.onEvent, options),
    onFailure: options.onFailure,
    telemetry: options.telemetry,
    identityCache: createIdentityCache(cacheSize),
    now: options.now ?? (() => new Date()),
  }
  reportSource(jwks.failures, 'keys', config)
  for (const { issuer, jwks } of trustedIssuers) reportSource(jwks.failures, `keys of ${issuer}`, config)
  return config
}

/** Reports what a listener throws: it changes no decision. */
function reporting(listener: EventListener, { onFailure, telemetry }: AuthConfigOptions): EventListener {
  const config = { onFailure, telemetry }
  return async (event) => {
    try {
      await listener(event)
    } catch (error) {
      reportFailure(error, { code: 'EVENT_LISTENER_FAILED', path: event.type, step: 'background' }, config)
    }
  }
}

/** Every member of {@link AuthConfig}. */
const SETTINGS: readonly (keyof AuthConfig)[] = [
  ...([
    'baseUrl',
    'issuer',
    'audience',
    'secure',
    'allowedOrigins',
    'allowedHeaders',
    'exposedHeaders',
    'bearer',
    'proof',
    'cookies',
    'sessionCookie',
    'issuers',
  ] as const),
  ...(['jwtLifetimeSeconds', 'lookupTimeoutMs', 'lifetimes'] as const),
  ...(['maxSessionsPerUser', 'whenFull', 'rotateSessionToken', 'freshForSeconds'] as const),
  ...(['trustedProxies', 'rolesOf', 'memberRolesOf', 'hasPermissions'] as const),
  ...(['onEvent', 'onFailure', 'telemetry', 'identityCache', 'now'] as const),
]

const roleOf: RolesOf = ({ role }) => [role]
const memberRoleOf: MemberRolesOf = (role) => [role]
const hasNone: HasPermissions = () => false
const NO_LIMIT = Number.POSITIVE_INFINITY
const OWN_CLAIMS = { userId: 'userId', sessionId: 'sessionId' }

function requireIdleTimeout(seconds: number, jwtLifetimeSeconds: number): void {
  requirePositiveOrNone('session.idleTimeoutSeconds', seconds)
  // Use is only recorded when the JWT is refreshed.
  if (seconds <= jwtLifetimeSeconds)
    throw new ConfigurationError(
      `session.idleTimeoutSeconds must be more than the ${jwtLifetimeSeconds} s of jwt.expiresInSeconds`,
    )
}

function issuerChecks(own: string | undefined, others: readonly TrustedIssuer[]): (() => void)[] {
  const names = [own, ...others.map(({ issuer }) => issuer)]
  return others.flatMap(({ issuer, maxAgeSeconds = DEFAULT_MAX_AGE_SECONDS }, index) => [
    () => {
      if (names.indexOf(issuer) <= index)
        throw new ConfigurationError(`trustedIssuers: ${issuer} occurs twice. Remove one.`)
    },
    () => requirePositive(`trustedIssuers: maxAgeSeconds of ${issuer}`, maxAgeSeconds, MAX_SECONDS),
  ])
}

function parseOrigin(setting: string, value: string, { allowInsecure = false }: AuthConfigOptions): string {
  const url = URL.parse(value)
  // The URL parser accepts a wildcard as a host name, and no origin equals it.
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname.includes('*'))
    throw new ConfigurationError(`${setting} must be an http or https URL, such as https://app.example.com`)
  if (!allowInsecure && !isSecureUrl(url) && isProduction())
    throw new ConfigurationError(
      `${setting}: ${url.origin} must be https in production. Set allowInsecure: true only on a trusted network.`,
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
    throw new ConfigurationError(`allowedOrigins: ${value} is not an origin. Write ${origin}.`)
  return origin
}

function requireHeaderNames(setting: string, names: readonly string[]): void {
  for (const name of names)
    if (!/^[\w-]+$/.test(name))
      throw new ConfigurationError(`${setting} must be header names such as traceparent, without wildcards`)
}

function requirePositiveOrNone(setting: string, value: number): void {
  if (value !== NO_LIMIT) requirePositive(setting, value, MAX_SECONDS)
}

function requireOneOf<Value>(setting: string, value: Value, allowed: readonly Value[]): void {
  if (!allowed.includes(value)) throw new ConfigurationError(`${setting} must be ${allowed.join(' or ')}`)
}
