export { type BetterAuthGuard, type BetterAuthGuardOptions, betterAuthGuard } from './better-auth/guard.ts'
