import { type LockSession, lockSessionIn } from './lifecycle/lock-session.ts'

export type {
  OpenedDatabase as SqliteAuthDatabase,
  OpenedReader as SqliteReader,
  OpenedStore as SqliteStore,
} from './database/database.ts'
export type { OwnSession, OwnSessions } from './database/mapped-sessions.ts'
export type { DateEncoding, SessionMapping, StoreMapping } from './database/schema/mapping.ts'
export type { MigrationReport } from './database/schema/migrations.ts'
export type { OwnNames } from './database/schema/own-names.ts'
export type { D1Client, SqliteClient, SqliteSource } from './database/sqlite/connections/client.ts'
export { openSqlite, type SqliteOptions } from './database/sqlite/open.ts'
export { openSqliteStore, type SqliteStoreOptions } from './database/sqlite/open-store.ts'
export type { Execute, LockSession, LockSessionOptions } from './lifecycle/lock-session.ts'

/** Locks a session in a transaction of the app's own: see {@link LockSession}. */
export const lockSession: LockSession = lockSessionIn('sqlite')
