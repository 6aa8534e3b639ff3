import { NO_COLUMNS } from '../../session/added-columns.ts'
import type { Row } from '../../session/session-row.ts'
import { checkMapping } from '../check-mapping.ts'
import type { MappingOptions, OpenedReader, OpenedStore } from '../database.ts'
import { sessionSql } from '../find-session-sql.ts'
import { mappedSessions } from '../mapped-sessions.ts'
import { pruneFeedHourly } from '../prune-feed.ts'
import { expectedOfStore } from '../schema/expected.ts'
import { offerInspection } from '../schema/inspect-opened.ts'
import { namesOf } from '../schema/mapping.ts'
import type { PostgresOptions, PostgresSource } from './connect.ts'
import type { PostgresClient, PostgresHttpClient } from './drivers/clients.ts'
import type { FeedState } from './feed-state.ts'
import { readIdTypes } from './ids.ts'
import { installFeed } from './install-feed.ts'
import { openNode, startNode } from './node.ts'
import { checkRowSecurity } from './row-security.ts'

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
  source: PostgresSource,
  options: PostgresOptions & MappingOptions,
): Promise<OpenedStore>
/** Over HTTP, the store only guards calls: it offers neither `ctx.transaction` nor lists of sessions. */
export function openPostgresStore(
  source: { readonly pool: PostgresHttpClient },
  options: PostgresOptions & MappingOptions,
): Promise<OpenedReader>
export function openPostgresStore(
  source: PostgresSource<PostgresClient | PostgresHttpClient>,
  options: PostgresOptions & MappingOptions,
): Promise<OpenedReader> {
  const { mapping, columns = NO_COLUMNS } = options
  return openNode(source, options, async (node) => {
    const { kysely, connector, types } = node
    const { query } = connector.driver
    const tables = { sql: sessionSql('postgres', mapping, columns), columns }
    const check = async () => {
      await checkMapping('postgres', options, async (statement) => {
        const { rows } = await query<Row>({ text: statement })
        return rows[0]
      })
      await checkRowSecurity(connector.driver, tables)
    }
    const expected = expectedOfStore(types, options)
    await offerInspection({ db: kysely, expectedWith: () => expected, check })
    const ids = await readIdTypes(query, namesOf('postgres', mapping))
    await check()
    const isInteractive = connector.driver.connect !== undefined
    const state = await installFeed(kysely, types, { mapping, columns }).catch((error: unknown) => {
      if (isInteractive) throw error
      console.warn(NOT_INSTALLED)
      return NO_FEED
    })
    const lookup = { ...tables, ids }
    const { close, ...store } = await startNode(node, { ...lookup, state, expected })
    const stopPruning = pruneFeedHourly(kysely, 'postgres')
    const writes = { db: kysely, locks: lookup, revocations: store.revocations }
    return {
      ...store,
      issuer: mapping.issuer,
      ...(isInteractive && { locks: lookup, ...mappedSessions(writes) }),
      close() {
        stopPruning()
        return close()
      },
    }
  })
}

const NO_FEED: FeedState = { hasTables: false, isComplete: false }

const NOT_INSTALLED =
  "sallyport: the internal tables are missing, and an HTTP client can't create them. Open the store once with a URL or a Pool. Until then, each process counts rate limits in its own memory."
