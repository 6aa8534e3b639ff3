export type { AuthAdapter, SessionStore, SessionToken } from './adapters/adapter.ts'
export {
  type AuthDatabase,
  type AuthStore,
  authStore,
  directAdapter,
  withAuthStore,
} from './adapters/direct-adapter.ts'
export { type Authenticated, authenticate, identify, validateIdentity } from './authenticate.ts'
export { type AuthConfig, type AuthConfigOptions, defineAuthConfig } from './config.ts'
export { type CookieNames, cookieNames, readCookie } from './cookie.ts'
export { corsHeaders, withCors } from './cors.ts'
export { type Credentials, type HeaderReader, readCredentials, type SessionCookie } from './credentials.ts'
export { EndpointError, isEndpointError } from './endpoint-error.ts'
export {
  AuthError,
  ConfigurationError,
  type ConfigurationErrorCode,
  isAuthError,
  isConfigurationError,
  isUndecided,
} from './errors.ts'
export type {
  AuthEvent,
  AuthEventType,
  EventListener,
  PluginEvent,
  RevocationCause,
} from './events/event.ts'
export { denial } from './events/report-denial.ts'
export type { Identity } from './jwt/identity.ts'
export type { IdentityCache } from './jwt/identity-cache.ts'
export { keysVersion, type TrustedIssuer } from './jwt/trusted-issuer.ts'
export { type VerifiedJws, verifyJws } from './jwt/verify-jws.ts'
export { verifyJwt } from './jwt/verify-jwt.ts'
export { type DynamicJwksOptions, dynamicJwks } from './keys/dynamic-jwks.ts'
export {
  ALGORITHMS,
  type Algorithm,
  type KeySet,
  type KeyStanding,
  type VerificationAlgorithm,
  type VerificationKey,
} from './keys/key-set.ts'
export { staticJwks } from './keys/static-jwks.ts'
export { checkOrigin, type OriginRequest, type RequestKind } from './origin.ts'
export { positive } from './positive.ts'
export { MAX_BATCH_SIZE, MAX_PAYLOAD_BYTES, REASONS, type Reason } from './protocol.ts'
export { checkRateLimit, type RateLimit, type RateLimitStore } from './rate-limit/rate-limit.ts'
export type { Revocation, RevocationFeed } from './revocations/feed.ts'
export { isReady } from './session/is-ready.ts'
export {
  isBanned,
  isFresh,
  type Session,
  type SessionKey,
  type SessionUser,
  type StoredSession,
} from './session/session.ts'
export type { SessionDatabase } from './session/session-database.ts'
export { type TransactOptions, transact } from './session/transact.ts'
export { type ProvedSession, type ValidateOptions, validateSession } from './session/validate-session.ts'
