import type { AuthDatabase } from '../session/auth-store.ts'
import type { SessionDatabase } from './session-database.ts'

/**
 * A {@link SessionDatabase}, also one with further tables of the app: TypeScript before 6 takes no Kysely with more tables for one with
 * fewer.
 */
export type AnyDatabase = SessionDatabase | (Omit<SessionDatabase, 'db'> & { readonly db: AuthDatabase })

/** The same database, as far as our tables go. */
export function toSessionDatabase<Members extends keyof SessionDatabase>(
  database: Pick<AnyDatabase, Members>,
): Pick<SessionDatabase, Members>
export function toSessionDatabase(database: Partial<AnyDatabase>): Partial<SessionDatabase> {
  return database as Partial<SessionDatabase>
}
