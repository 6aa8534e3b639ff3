export type { EnableTotpResponse, RecoveryCodesResponse, TotpResponse } from './totp/enrollment.ts'
export type { FactorEmail, TotpLimits, TotpOptions } from './totp/settings.ts'
export { type TotpEndpoints, totp } from './totp/totp.ts'
