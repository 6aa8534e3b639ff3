export type { BoundBetterAuthApi } from './better-auth/bound-api.ts'
export { type BetterAuthGuard, type BetterAuthGuardOptions, betterAuthGuard } from './better-auth/guard.ts'
export { type SallyportJwtOptions, sallyportJwt } from './better-auth/jwt-plugin.ts'
