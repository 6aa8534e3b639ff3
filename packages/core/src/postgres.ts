import { type LockSession, lockSessionIn } from './session/lock-session.ts'

export type { PostgresOptions } from './database/connect-postgres.ts'
export type { DateEncoding, StoreMapping } from './database/mapping.ts'
export type { MigrationReport } from './database/migrations.ts'
export { openPostgres, type PostgresAuthDatabase } from './database/open-postgres.ts'
export { openPostgresStore, type PostgresStore } from './database/open-postgres-store.ts'
export type {
  AccountTable,
  AuditTable,
  AuthTables,
  RateLimitTable,
  RevocationLogTable,
  SessionTable,
  Timestamp,
  UserTable,
} from './database/schema.ts'
export type { Execute, LockSession, LockSessionOptions } from './session/lock-session.ts'

/** Locks a session in a transaction of the app's own: see {@link LockSession}. */
export const lockSession: LockSession = lockSessionIn('postgres')
