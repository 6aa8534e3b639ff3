export { BodyTooLargeError, type ByteStream, readBytes } from './protocol/read-limited.ts'
export { safeListener } from './protocol/safe-listener.ts'
export { requireSecureUrl } from './protocol/settings.ts'
export { burnToken } from './service/burn-token.ts'
export { digestBody } from './service/digest-body.ts'
export { issueServiceToken, type ServiceTokenOptions } from './service/issue-service-token.ts'
export { type OnceCall, type OnceOutcome, runOnce } from './service/run-once.ts'
export { parseServiceSigningKeys, refuseSharedKeys } from './service/service-signing-keys.ts'
export {
  requireClaimText,
  type ServiceCall,
  type ServiceClaims,
  serviceAudience,
} from './service/service-token.ts'
export { keySetsOf, type ServiceKeys, verifyServiceToken } from './service/verify-service-token.ts'
