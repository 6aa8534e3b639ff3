import { type LockSession, lockSessionIn } from './lifecycle/lock-session.ts'

export type {
  OpenedDatabase as PostgresAuthDatabase,
  OpenedReader as PostgresReader,
  OpenedStore as PostgresStore,
} from './database/database.ts'
export type { OwnSession, OwnSessions } from './database/mapped-sessions.ts'
export type { PostgresOptions, PostgresSource } from './database/postgres/connect.ts'
export type { PostgresClient, PostgresHttpClient } from './database/postgres/drivers/clients.ts'
export { openPostgres } from './database/postgres/open.ts'
export { openPostgresStore } from './database/postgres/open-store.ts'
export type { DateEncoding, SessionMapping, StoreMapping } from './database/schema/mapping.ts'
export type { MigrationReport } from './database/schema/migrations.ts'
export type { OwnNames } from './database/schema/own-names.ts'
export type { Execute, LockSession, LockSessionOptions } from './lifecycle/lock-session.ts'

/** Locks a session in a transaction of the app's own: see {@link LockSession}. */
export const lockSession: LockSession = lockSessionIn('postgres')
