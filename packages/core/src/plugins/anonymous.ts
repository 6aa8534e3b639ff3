export { type AnonymousEndpoints, anonymous } from './anonymous/anonymous.ts'
export type { AnonymousLimits, AnonymousOptions } from './anonymous/settings.ts'
export type { AnonymousColumns } from './anonymous/tables.ts'
export type { UpgradeAnonymousInput } from './anonymous/upgrade.ts'
