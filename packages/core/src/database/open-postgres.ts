import { Kysely, sql } from 'kysely'
import type { SessionStore } from '../adapters/adapter.ts'
import { type AuthDatabase, withAuthStore } from '../adapters/direct-adapter.ts'
import type { AuthTransaction } from '../events/change.ts'
import { postgresLimits } from '../rate-limit/postgres-limits.ts'
import type { RateLimitStore } from '../rate-limit/rate-limit.ts'
import type { RevocationFeed } from '../revocations/feed.ts'
import { postgresFeed } from '../revocations/postgres-feed.ts'
import { causeOf, connectPostgres, endPostgres, type PostgresOptions } from './connect-postgres.ts'
import { type MigrationDialect, type MigrationReport, migrate, postgresTypes } from './migrations.ts'
import { postgresDialect } from './postgres-dialect.ts'
import { postgresLookups } from './postgres-lookups.ts'
import { postgresTokens } from './postgres-tokens.ts'
import type { AuthTables } from './schema.ts'
import { sessionSql } from './session-sql.ts'

/** An open database. */
export interface PostgresAuthDatabase<Tables> {
  /** Kysely on a pool; goes into the context of a call as `db`. `Tables` are the app's own. */
  readonly db: Kysely<AuthTables & Tables> & AuthDatabase
  /** Step 2, on a connection of its own. */
  readonly sessions: SessionStore
  readonly revocations: RevocationFeed
  /** Counts attempts in the same database. */
  readonly limits: RateLimitStore
  /** How migrations write their types here. */
  readonly types: MigrationDialect
  /** What the migrations did while opening. */
  readonly migrations: MigrationReport
  close(): Promise<void>
}

/**
 * Opens a PostgreSQL database of version 14 or later, and brings its tables up to date. Every node opens it for itself and hears of the
 * revocations of all others; see `docs/scaling.md`.
 *
 * @param url `postgres://user:password@host:5432/database`, of the primary. A pooler in between must pool sessions, not transactions.
 * @throws ConfigurationError when the URL names no PostgreSQL database, or an option cannot work
 * @throws the error of the driver when the database cannot be reached, or of the migration that failed
 */
export function openPostgres<Tables = unknown>(
  url: string,
  options?: PostgresOptions,
): Promise<PostgresAuthDatabase<Tables>>
export async function openPostgres(
  url: string,
  options: PostgresOptions = {},
): Promise<PostgresAuthDatabase<unknown>> {
  const { connector, lookupTimeoutMs } = connectPostgres(url, options)
  const { pool } = connector
  try {
    const kysely = new Kysely<AuthTables>({ dialect: postgresDialect(pool) })
    const migrations = await migrate(kysely, postgresTypes)
    const lookups = postgresLookups({
      connector,
      sql: sessionSql('postgres'),
      ids: { session: 'text', user: 'text' },
      lookupTimeoutMs,
    })
    const sessions: SessionStore = { findSession: lookups.findSession, findToken: postgresTokens(pool) }
    const revocations = await postgresFeed(connector, { timeoutMs: lookupTimeoutMs })
    const limits = postgresLimits(pool)
    return {
      db: withAuthStore(kysely, { sessions, revocations, limits, db: kysely, limitStatements }),
      sessions,
      revocations,
      limits,
      types: postgresTypes,
      migrations,
      async close() {
        revocations.close()
        lookups.close()
        await endPostgres(connector)
      },
    }
  } catch (error) {
    await endPostgres(connector)
    throw causeOf(error)
  }
}

async function limitStatements(trx: AuthTransaction, timeoutMs: number): Promise<void> {
  await sql.raw(`set local statement_timeout = ${timeoutMs}`).execute(trx)
}
