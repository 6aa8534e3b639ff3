import { Kysely } from 'kysely'
import type { LookupRow } from '../../session/session-row.ts'
import { checkMapping } from '../check-mapping.ts'
import type { OpenedStore } from '../database.ts'
import { installFeed, pruneFeedHourly } from '../install-feed.ts'
import { namesOf, type StoreMapping } from '../mapping.ts'
import type { AuthTables } from '../schema.ts'
import { sessionSql } from '../session-sql.ts'
import { causeOf, connectPostgres, endPostgres, type PostgresOptions } from './connect.ts'
import { postgresDialect } from './dialect.ts'
import { postgresFeed } from './feed.ts'
import { readIdTypes } from './ids.ts'
import { postgresLimits } from './limits.ts'
import { postgresLookups } from './sessions.ts'

/** An open {@link openPostgresStore store}: for `withAuthStore`, and `close()`. */
export type PostgresStore = OpenedStore

/**
 * Opens Step 2, the feed, and the rate limits on tables that another library owns, such as Better Auth's. It only reads those
 * tables, and adds triggers that report revocations.
 *
 * @param options.mapping the names and date encoding of those tables. One row is read to check it
 * @throws ConfigurationError if the mapping doesn't fit the tables
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
    await checkMapping('postgres', mapping, async (statement) => {
      const { rows } = await pool.query<LookupRow>(statement)
      return rows[0]
    })
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
