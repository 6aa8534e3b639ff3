import { type LockSession, lockSessionIn } from './lifecycle/lock-session.ts'

export type { OpenedDatabase as SqliteAuthDatabase, OpenedStore as SqliteStore } from './database/database.ts'
export type { DateEncoding, StoreMapping } from './database/mapping.ts'
export type { MigrationReport } from './database/migrations.ts'
export { openSqlite, openSqliteStore, type SqliteOptions } from './database/sqlite/open.ts'
export type { Execute, LockSession, LockSessionOptions } from './lifecycle/lock-session.ts'

/** Locks a session in a transaction of the app's own: see {@link LockSession}. */
export const lockSession: LockSession = lockSessionIn('sqlite')
