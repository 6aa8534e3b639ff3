export { BodyTooLargeError, type ByteStream, readBytes } from './protocol/read-limited.ts'
export { safely } from './protocol/safe-listener.ts'
export { requireSecureUrl } from './protocol/secure-url.ts'
export { consumeToken } from './service/consume-token.ts'
export { issueServiceToken, type ServiceTokenOptions } from './service/issue-service-token.ts'
export { type OnceCall, type OnceOutcome, runOnce } from './service/run-once.ts'
export { parseServiceSigningKeys, rejectSharedKeys } from './service/service-signing-keys.ts'
export {
  digestBody,
  requireClaimText,
  type ServiceCall,
  type ServiceClaims,
  serviceAudience,
} from './service/service-token.ts'
export { keySetsOf, type ServiceKeys, verifyServiceToken } from './service/verify-service-token.ts'
