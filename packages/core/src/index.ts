export { type Authenticated, authenticate, identify, validateIdentity } from './session/authenticate.ts'
export { type ProvedSession, type ValidateOptions, validateSession } from './session/validate-session.ts'

// Both steps are above. Below is what they need and what builds on them.

export { type AuthConfig, type AuthConfigOptions, defineAuthConfig } from './config.ts'
export type { SessionDatabase } from './database/session-database.ts'
export type {
  AuthEvent,
  AuthEventType,
  EventListener,
  PluginEvent,
  RevocationCause,
} from './events/event.ts'
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
  type KeyStatus,
  type VerificationAlgorithm,
  type VerificationKey,
} from './keys/key-set.ts'
export { staticJwks } from './keys/static-jwks.ts'
export { type TransactOptions, transact } from './lifecycle/transact.ts'
export { EndpointError, isEndpointError } from './protocol/endpoint-error.ts'
export {
  AuthError,
  ConfigurationError,
  type ConfigurationErrorCode,
  isAuthError,
  isConfigurationError,
  isUnavailable,
} from './protocol/errors.ts'
export { requirePositive } from './protocol/settings.ts'
export { MAX_BATCH_SIZE, MAX_PAYLOAD_BYTES, REASONS, type Reason } from './protocol.ts'
export { checkRateLimit, type RateLimit, type RateLimitStore } from './rate-limit/rate-limit.ts'
export { type CookieNames, cookieNames, readCookie } from './request/cookie.ts'
export { corsHeaders, withCors } from './request/cors.ts'
export {
  type Credentials,
  type HeaderReader,
  readCredentials,
  type SessionCookie,
} from './request/credentials.ts'
export { checkOrigin, type OriginRequest, type RequestKind } from './request/origin.ts'
export type { Revocation, RevocationFeed } from './revocations/feed.ts'
export {
  type AuthDatabase,
  type AuthStore,
  authStore,
  sessionsOf,
  withAuthStore,
} from './session/auth-store.ts'
export { isReady } from './session/is-ready.ts'
export { denial } from './session/report-denial.ts'
export {
  isBanned,
  isFresh,
  type Session,
  type SessionKey,
  type SessionUser,
  type StoredSession,
} from './session/session.ts'
export type { SessionReader, SessionStore, SessionToken } from './session/session-store.ts'
