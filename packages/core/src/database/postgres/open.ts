import { Kysely, sql } from 'kysely'
import { NO_COLUMNS } from '../../session/added-columns.ts'
import { withAuthStore } from '../../session/auth-store.ts'
import type { SessionStore } from '../../session/session-store.ts'
import type { AuthTransaction } from '../auth-transaction.ts'
import { addColumns } from '../columns.ts'
import type { ColumnsOptions, OpenedDatabase } from '../database.ts'
import { migrate, postgresTypes } from '../migrations.ts'
import type { AuthTables } from '../schema.ts'
import { sessionSql } from '../session-sql.ts'
import { causeOf, connectPostgres, endPostgres, type PostgresOptions } from './connect.ts'
import { postgresDialect } from './dialect.ts'
import { postgresFeed } from './feed.ts'
import { postgresLimits } from './limits.ts'
import { postgresLookups } from './sessions.ts'
import { postgresTokens } from './tokens.ts'

/**
 * What {@link openPostgres} opens.
 * - `db`: Kysely, on a pool; goes into the context of a call. `Tables` are the app's own
 * - `sessions`: Step 2, on connections of its own
 * - `revocations`: tells of revocations, those of other processes too
 * - `limits`: counts attempts in the same database
 * - `columns`, `types`, `migrations`: what it was opened with, and what the migrations did
 * - `close()`: closes its connections
 */
export type PostgresAuthDatabase<Tables> = OpenedDatabase<Tables>

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
  options?: PostgresOptions & ColumnsOptions,
): Promise<PostgresAuthDatabase<Tables>>
export async function openPostgres(
  url: string,
  { columns = NO_COLUMNS, ...options }: PostgresOptions & ColumnsOptions = {},
): Promise<PostgresAuthDatabase<unknown>> {
  const { connector, lookupTimeoutMs } = connectPostgres(url, options)
  const { pool } = connector
  try {
    const kysely = new Kysely<AuthTables>({ dialect: postgresDialect(pool) })
    const { applied } = await migrate(kysely, postgresTypes)
    const added = await addColumns(kysely, postgresTypes, columns)
    const revocations = await postgresFeed(connector, { timeoutMs: lookupTimeoutMs })
    const lookups = postgresLookups({
      connector,
      sql: sessionSql('postgres', undefined, columns),
      columns,
      ids: { session: 'text', user: 'text' },
      lookupTimeoutMs,
    })
    const sessions: SessionStore = { findSession: lookups.findSession, findToken: postgresTokens(pool) }
    const limits = postgresLimits(pool)
    const database = { db: kysely, sessions, revocations, limits, columns, types: postgresTypes }
    return {
      ...database,
      db: withAuthStore(kysely, { sessions, revocations, limits, database, limitStatements }),
      migrations: { applied: [...applied, ...added] },
      async close() {
        await Promise.all([revocations.close(), lookups.close()])
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
