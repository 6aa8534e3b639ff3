export { BodyTooLargeError, type ByteStream, readBytes } from './protocol/read-limited.ts'
export { safely } from './protocol/safe-listener.ts'
export { requireSecureUrl } from './protocol/secure-url.ts'
export { consumeToken } from './service/consume-token.ts'
export { type OnceCall, type OnceOutcome, runOnce } from './service/run-once.ts'
export { parseServiceSigningKeys, rejectSharedKeys } from './service/service-signing-keys.ts'
export {
  digestBody,
  issueServiceToken,
  requireClaimText,
  type ServiceCall,
  type ServiceClaims,
  type ServiceTokenOptions,
  serviceAudience,
} from './service/service-token.ts'
export { keySetsOf, type ServiceKeys, verifyServiceToken } from './service/verify-service-token.ts'
