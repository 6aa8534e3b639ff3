import { Kysely } from 'kysely'
import { ConfigurationError } from '../../protocol/errors.ts'
import type { LookupRow } from '../../session/session-row.ts'
import { checkMapping, warnWithoutVersion } from '../check-mapping.ts'
import type { OpenedStore } from '../database.ts'
import { installFeed, pruneFeedHourly } from '../install-feed.ts'
import { namesOf, type StoreMapping } from '../mapping.ts'
import type { AuthTables } from '../schema.ts'
import { sessionSql } from '../session-sql.ts'
import { causeOf, connectPostgres, endPostgres, type PostgresOptions } from './connect.ts'
import type { PostgresConnector } from './connector.ts'
import { postgresDialect } from './dialect.ts'
import { postgresFeed } from './feed.ts'
import { readIdTypes } from './ids.ts'
import { postgresLimits } from './limits.ts'
import { postgresLookups } from './sessions.ts'

/** What {@link openPostgresStore} opens: `sessions`, `revocations` and `limits` of an `AuthStore`, and `close()`. */
export type PostgresStore = OpenedStore

/**
 * Step 2, the feed and the rate limits on tables that another library owns, such as those of Better Auth: they are read, and triggers on
 * them tell of revocations, but nothing of ours writes to them. For `withAuthStore`.
 *
 * @param options.mapping how those tables are named and write their dates. A row is read to check it
 * @throws ConfigurationError when the mapping does not fit the tables
 * @example
 * const store = await openPostgresStore(env.DATABASE_URL, { mapping: { session: { table: 'sessions' } } })
 * export const db = withAuthStore(drizzle(client), store)
 */
export async function openPostgresStore(
  url: string,
  options: PostgresOptions & { readonly mapping: StoreMapping },
): Promise<PostgresStore> {
  const { mapping } = options
  const { connector, lookupTimeoutMs } = connectPostgres(url, options)
  const { pool } = connector
  try {
    const ids = await readIdTypes(pool, namesOf('postgres', mapping))
    await readOneRow(connector, mapping)
    warnWithoutVersion(mapping)
    const kysely = new Kysely<AuthTables>({ dialect: postgresDialect(pool) })
    await installFeed(kysely, 'postgres', mapping)
    const revocations = await postgresFeed(connector, { timeoutMs: lookupTimeoutMs })
    const lookups = postgresLookups({ connector, sql: sessionSql('postgres', mapping), ids, lookupTimeoutMs })
    const stopPruning = pruneFeedHourly(kysely)
    return {
      sessions: lookups,
      revocations,
      limits: postgresLimits(pool),
      async close() {
        stopPruning()
        await Promise.all([revocations.close(), lookups.close()])
        await endPostgres(connector)
      },
    }
  } catch (error) {
    await endPostgres(connector)
    throw causeOf(error)
  }
}

async function readOneRow({ pool }: PostgresConnector, mapping: StoreMapping): Promise<void> {
  const { session, user } = sessionSql('postgres', mapping)
  const { rows } = await pool
    .query<LookupRow>(
      `select ${session.columns}, ${user.columns}
        from ${session.table} s join ${user.table} u on u.${user.id} = s.${session.userId} limit 1`,
    )
    .catch((cause: Error) => {
      const { dates } = namesOf('postgres', mapping)
      throw new ConfigurationError(`mapping: ${cause.message}; are the dates really ${dates}?`, { cause })
    })
  checkMapping(rows[0], 'postgres', mapping)
}
