export { type Authenticated, authenticate, identify } from './session/authenticate.ts'
export { type ProvedSession, type ValidateOptions, validateSession } from './session/validate-session.ts'

// Both steps are above. Below is what they need and what builds on them.

export {
  type AuthConfig,
  type AuthConfigOptions,
  defineAuthConfig,
  type PermissionRequest,
  type Permissions,
} from './config.ts'
export type { SessionDatabase } from './database/session-database.ts'
export type {
  AdminRead,
  AttemptEvent,
  AuthEvent,
  AuthEventType,
  BanTerms,
  EventDetail,
  EventListener,
  EventRequest,
  PluginEvent,
  RevocationCause,
  SessionEvent,
  UserEvent,
  VersionCause,
} from './events/event.ts'
export type { AuthFailure, FailureCode, FailureListener, FailureStep } from './events/failure.ts'
export type { Identity } from './jwt/identity.ts'
export type { IdentityCache } from './jwt/identity-cache.ts'
export type { Proof, ProvedIdentity } from './jwt/proof.ts'
export type { TrustedIssuer } from './jwt/trusted-issuer.ts'
export { verifyJwt } from './jwt/verify-jwt.ts'
export { type DynamicJwksOptions, dynamicJwks } from './keys/dynamic-jwks.ts'
export type { Algorithm, KeySet, KeyStatus, VerificationAlgorithm, VerificationKey } from './keys/key-set.ts'
export { staticJwks } from './keys/static-jwks.ts'
export type { TransactOptions } from './lifecycle/transact.ts'
export { type EndpointError, isEndpointError } from './protocol/endpoint-error.ts'
export {
  AuthError,
  ConfigurationError,
  type ConfigurationErrorCode,
  isAuthError,
} from './protocol/errors.ts'
export {
  type ActiveOrganizationResponse,
  type AdminUserResponse,
  type AuditRecordResponse,
  type CurrentSessionResponse,
  type ErrorResponse,
  type InvitationResponse,
  MAX_PAYLOAD_BYTES,
  type MemberResponse,
  type OrganizationResponse,
  REASONS,
  type Reason,
  type SessionResponse,
  type SuccessResponse,
  type TokenResponse,
  type UserResponse,
  type VerifyEmailResponse,
} from './protocol.ts'
export type { RateLimit, RateLimitStore } from './rate-limit/rate-limit.ts'
export { type CookieNames, readCookie } from './request/cookie.ts'
export { withCors } from './request/cors.ts'
export type { Credentials, HeaderReader, SessionCookie } from './request/credentials.ts'
export { checkOrigin, type OriginRequest, type RequestKind } from './request/origin.ts'
export type { Revocation, RevocationFeed } from './revocations/feed.ts'
export { type AuthDatabase, type AuthStore, sessionsOf, withAuthStore } from './session/auth-store.ts'
export { isReady } from './session/is-ready.ts'
export {
  isBanned,
  type Session,
  type SessionKey,
  type SessionReader,
  type SessionStore,
  type SessionToken,
  type SessionUser,
  type StoredSession,
} from './session/session.ts'
export { type SessionCookieOptions, sessionCookieProof } from './session/session-cookie-proof.ts'
