import type { AuthDatabase } from '../session/auth-store.ts'
import type { SessionDatabase } from './session-database.ts'

/** A {@link SessionDatabase} that may have more tables. TypeScript before 6 rejects a Kysely with more. */
export type AnyDatabase = SessionDatabase | (Omit<SessionDatabase, 'db'> & { readonly db: AuthDatabase })

/** Returns the same database, typed with our tables. */
export function toSessionDatabase<Members extends keyof SessionDatabase>(
  database: Pick<AnyDatabase, Members>,
): Pick<SessionDatabase, Members>
export function toSessionDatabase(database: Partial<AnyDatabase>): Partial<SessionDatabase> {
  return database as Partial<SessionDatabase>
}
