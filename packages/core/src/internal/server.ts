/**
 * Server code for `@sallyport/trpc`. Runs on the edge. Not for apps: it changes in any release.
 * @internal
 * @module
 */

export { sessionSql } from '../database/find-session-sql.ts'
export { lazyStore, type OpenedMembers } from '../database/lazy-store.ts'
export { openOnce } from '../database/open-once.ts'
export { watchFile } from '../database/watch-file.ts'
export { reportSource } from '../events/failure-source.ts'
export { reportFailure, reportOnce, wasReported } from '../events/report-failure.ts'
export { keysVersion } from '../jwt/trusted-issuer.ts'
export { readSigningKeys } from '../keys/read-signing-keys.ts'
export { isCopyOf, transactionsOf } from '../lifecycle/client-transactions.ts'
export { prepareTokens, type TokenResult } from '../lifecycle/prepare-tokens.ts'
export { transact } from '../lifecycle/transact.ts'
export { transactInClient } from '../lifecycle/transact-in-client.ts'
export { timersAreShared, withDeadline } from '../protocol/deadline.ts'
export { EndpointError, reject } from '../protocol/endpoint-error.ts'
export { isConfigurationError, isUnavailable } from '../protocol/errors.ts'
export { BodyTooLargeError, type ByteStream, readBytes } from '../protocol/read-limited.ts'
export { toErrorResponse, withCommonHeaders } from '../protocol/responses.ts'
export { checkAll, MAX_TIMER_MS, requirePositive, requireSecureUrl } from '../protocol/settings.ts'
export { UNCACHED } from '../protocol/uncached.ts'
export { memoryLimits } from '../rate-limit/memory-limits.ts'
export { checkRateLimit } from '../rate-limit/rate-limit.ts'
export { rateLimited } from '../rate-limit/rate-limited.ts'
export {
  addressBuckets,
  clientAddress,
  isPrivateAddress,
  type ProxyTrust,
  proxyTrustOf,
} from '../request/address.ts'
export { setCookie } from '../request/cookie.ts'
export { readCredentials } from '../request/credentials.ts'
export { isPrefetch } from '../request/prefetch.ts'
export { memoryFeed } from '../revocations/feed.ts'
export { consumeToken, type OnceCall, runOnce } from '../service/run-once.ts'
export { parseServiceSigningKeys, rejectSharedKeys } from '../service/service-signing-keys.ts'
export {
  digestBody,
  issueServiceToken,
  requireClaimText,
  type ServiceCall,
  type ServiceClaims,
  type ServiceTokenOptions,
  serviceAudience,
} from '../service/service-token.ts'
export { keySetsOf, type ServiceKeys, verifyServiceToken } from '../service/verify-service-token.ts'
export { authStore } from '../session/auth-store.ts'
export { isKeyTrusted, validateIdentity } from '../session/authenticate.ts'
export { requireKnownFactor } from '../session/authentication-methods.ts'
export { checkKeys, checkLookup, PROBE_ID, requireReady } from '../session/is-ready.ts'
export { matchSessionCookie } from '../session/match-session-cookie.ts'
export { proofError } from '../session/proof-error.ts'
export { denial, reportLater, reportRejection, withoutReports } from '../session/report-denial.ts'
export { hashSecret } from '../session/secret.ts'
export { isImpersonated } from '../session/session.ts'
