import { Kysely, sql } from 'kysely'
import { isAuthError } from '../../protocol/errors.ts'
import { NO_COLUMNS } from '../../session/added-columns.ts'
import { withAuthStore } from '../../session/auth-store.ts'
import type { Row } from '../../session/session-row.ts'
import { checkMapping } from '../check-mapping.ts'
import { addColumns } from '../columns.ts'
import type { ColumnsOptions, OpenedDatabase, OpenedStore } from '../database.ts'
import { installFeed, pruneFeedHourly } from '../install-feed.ts'
import { namesOf, type StoreMapping } from '../mapping.ts'
import { migrate, postgresTypes } from '../migrations.ts'
import type { AuthKysely } from '../schema.ts'
import type { AuthTransaction } from '../session-database.ts'
import { sessionSql } from '../session-sql.ts'
import { connectPostgres, endPostgres, type PostgresConnector, type PostgresOptions } from './connect.ts'
import { postgresDialect } from './dialect.ts'
import { postgresFeed } from './feed.ts'
import { readIdTypes } from './ids.ts'
import { postgresLimits } from './limits.ts'
import { type LookupOptions, postgresLookups, postgresTokens } from './sessions.ts'

/**
 * Opens a PostgreSQL database of version 14 or later, and migrates its tables. Every node opens it, and
 * receives the revocations of the other nodes; see `docs/scaling.md`.
 * @param url `postgres://user:password@host:5432/database`, of the primary. A pooler must pool sessions, not
 * transactions.
 * @throws ConfigurationError if the URL isn't a PostgreSQL URL, or an option is invalid
 * @throws the driver's error if the database can't be reached, or that of a failed migration
 */
export function openPostgres<Tables = unknown>(
  url: string,
  options?: PostgresOptions & ColumnsOptions,
): Promise<OpenedDatabase<Tables>>
export function openPostgres(
  url: string,
  { columns = NO_COLUMNS, ...options }: PostgresOptions & ColumnsOptions = {},
): Promise<OpenedDatabase<unknown>> {
  return openNode(url, options, async (kysely, connector) => {
    const { applied } = await migrate(kysely, postgresTypes)
    const added = await addColumns(kysely, postgresTypes, columns)
    const ids = { session: 'text', user: 'text' } as const
    const lookup = { sql: sessionSql('postgres', undefined, columns), columns, ids }
    const { findSession, revocations, limits, close } = await startNode(connector, lookup)
    const sessions = { findSession, findToken: postgresTokens(connector.pool) }
    const database = { db: kysely, sessions, revocations, limits, columns, types: postgresTypes }
    const db = withAuthStore(kysely, { sessions, revocations, limits, database, limitStatements })
    return { ...database, db, migrations: { applied: [...applied, ...added] }, close }
  })
}

/**
 * Opens Step 2, the feed, and the rate limits on tables that another library owns, such as Better Auth's. It
 * only reads those tables, and adds triggers that report revocations.
 * @param options.mapping the names and date encoding of those tables. One row is read to check it
 * @throws ConfigurationError if the mapping doesn't fit the tables
 * @example
 * const store = await openPostgresStore(env.DATABASE_URL, { mapping: { session: { table: 'sessions' } } })
 * export const db = withAuthStore(drizzle(client), store)
 */
export function openPostgresStore(
  url: string,
  options: PostgresOptions & { readonly mapping: StoreMapping },
): Promise<OpenedStore> {
  const { mapping } = options
  return openNode(url, options, async (kysely, connector) => {
    const { pool } = connector
    const ids = await readIdTypes(pool, namesOf('postgres', mapping))
    await checkMapping('postgres', mapping, async (statement) => {
      const { rows } = await pool.query<Row>(statement)
      return rows[0]
    })
    await installFeed(kysely, 'postgres', mapping)
    const lookup = { sql: sessionSql('postgres', mapping), ids }
    const { findSession, close, ...store } = await startNode(connector, lookup)
    const stopPruning = pruneFeedHourly(kysely)
    return {
      ...store,
      sessions: { findSession },
      close() {
        stopPruning()
        return close()
      },
    }
  })
}

/** Connects, and closes the connections if `prepare` fails. */
async function openNode<Result>(
  url: string,
  options: PostgresOptions,
  prepare: (kysely: AuthKysely, connector: PostgresConnector) => Promise<Result>,
): Promise<Result> {
  const connector = connectPostgres(url, options)
  try {
    return await prepare(new Kysely({ dialect: postgresDialect(connector.pool) }), connector)
  } catch (error) {
    await endPostgres(connector)
    // While a program starts, the driver's error says more than a 503.
    throw isAuthError(error) ? (error.cause ?? error) : error
  }
}

async function startNode(connector: PostgresConnector, lookup: LookupOptions) {
  const revocations = await postgresFeed(connector)
  const { findSession, close } = postgresLookups(connector, lookup)
  return {
    findSession,
    revocations,
    limits: postgresLimits(connector.pool),
    async close() {
      await Promise.all([revocations.close(), close()])
      await endPostgres(connector)
    },
  }
}

async function limitStatements(trx: AuthTransaction, timeoutMs: number): Promise<void> {
  await sql.raw(`set local statement_timeout = ${timeoutMs}`).execute(trx)
}
