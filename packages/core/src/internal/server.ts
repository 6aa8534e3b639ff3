/**
 * What `@sallyport/trpc` shares with this package on a server. Runs on the edge. Not for apps: it changes in any release.
 *
 * @internal
 * @module
 */

export { keysVersion } from '../jwt/trusted-issuer.ts'
export { type TransactOptions, transact } from '../lifecycle/transact.ts'
export { EndpointError } from '../protocol/endpoint-error.ts'
export { isUnavailable } from '../protocol/errors.ts'
export { BodyTooLargeError, type ByteStream, readBytes } from '../protocol/read-limited.ts'
export { safeListener } from '../protocol/safe-listener.ts'
export { requirePositive, requireSecureUrl } from '../protocol/settings.ts'
export { checkRateLimit } from '../rate-limit/rate-limit.ts'
export {
  addressBuckets,
  clientAddress,
  clientNetwork,
  isPrivateAddress,
  type ProxyTrust,
  trustProxies,
} from '../request/address.ts'
export { type Credentials, readCredentials, type SessionCookie } from '../request/credentials.ts'
export { burnToken } from '../service/burn-token.ts'
export { digestBody } from '../service/digest-body.ts'
export { issueServiceToken, type ServiceTokenOptions } from '../service/issue-service-token.ts'
export { type OnceCall, type OnceOutcome, runOnce } from '../service/run-once.ts'
export { parseServiceSigningKeys, refuseSharedKeys } from '../service/service-signing-keys.ts'
export {
  requireClaimText,
  type ServiceCall,
  type ServiceClaims,
  serviceAudience,
} from '../service/service-token.ts'
export { keySetsOf, type ServiceKeys, verifyServiceToken } from '../service/verify-service-token.ts'
export { authStore } from '../session/auth-store.ts'
export { validateIdentity } from '../session/authenticate.ts'
export { denial } from '../session/report-denial.ts'
export { isFresh } from '../session/session.ts'
