import { Kysely, type KyselyPlugin, sql } from 'kysely'
import { isAuthError } from '../../protocol/errors.ts'
import { memoryLimits } from '../../rate-limit/memory-limits.ts'
import type { RateLimitStore } from '../../rate-limit/rate-limit.ts'
import { memoryFeed } from '../../revocations/feed.ts'
import { type AddedColumns, NO_COLUMNS } from '../../session/added-columns.ts'
import { withAuthStore } from '../../session/auth-store.ts'
import type { Row } from '../../session/session-row.ts'
import { checkMapping } from '../check-mapping.ts'
import type {
  MappingOptions,
  OpenedDatabase,
  OpenedReader,
  OpenedStore,
  OwnTablesOptions,
} from '../database.ts'
import { sessionSql } from '../find-session-sql.ts'
import { storedLimits } from '../limits.ts'
import { mappedSessions } from '../mapped-sessions.ts'
import { requireOwnWrites } from '../own-writes.ts'
import { pruneFeedHourly } from '../prune-feed.ts'
import { restoringDialect, restoringLimits, type TableRestorer } from '../restore-tables.ts'
import { expectedOfDatabase, expectedOfStore } from '../schema/expected.ts'
import { type Expected, inspect } from '../schema/inspect.ts'
import { offerInspection } from '../schema/inspect-opened.ts'
import type { AuthKysely } from '../schema/kysely-tables.ts'
import { namesOf, type StoreMapping } from '../schema/mapping.ts'
import { type MigrationDialect, postgresTypes } from '../schema/migrations.ts'
import { prepareTables } from '../schema/prepare-tables.ts'
import { ownNames } from '../schema/renaming-plugin.ts'
import { type Tables, USER_TABLES, withColumns } from '../schema/tables.ts'
import type { AuthTransaction } from '../session-database.ts'
import { watchDatabase } from '../watch-database.ts'
import { checkValues } from './check-values.ts'
import {
  connectPostgres,
  type PostgresConnector,
  type PostgresOptions,
  type PostgresSource,
} from './connect.ts'
import { postgresDialect } from './dialect.ts'
import type { PostgresClient, PostgresHttpClient } from './drivers/clients.ts'
import { orUnavailable } from './drivers/errors.ts'
import { postgresFeed } from './feed.ts'
import type { FeedState } from './feed-state.ts'
import { type LookupOptions, postgresLookups, postgresTokens } from './find-session.ts'
import { readIdTypes } from './ids.ts'
import { installFeed, toGrantError } from './install-feed.ts'
import { statementName } from './statement-names.ts'

/**
 * Opens a PostgreSQL database of version 14 or later, and migrates its tables. Every node opens it, and
 * receives the revocations of the other nodes; see `docs/scaling.md`.
 * @param source `postgres://user:password@host:5432/database`, of the primary, or `{ pool }` with a client
 * that the app has. Behind a pooler of transactions, streams end within their lease.
 * @throws ConfigurationError if the URL isn't a PostgreSQL URL, or an option is invalid
 * @throws the driver's error if the database can't be reached, or that of a failed migration
 */
export function openPostgres<AppTables = unknown>(
  source: PostgresSource,
  options?: PostgresOptions & OwnTablesOptions,
): Promise<OpenedDatabase<AppTables>>
export async function openPostgres(
  source: PostgresSource,
  options: PostgresOptions & OwnTablesOptions = {},
): Promise<OpenedDatabase<unknown>> {
  const { columns = NO_COLUMNS, migrate: migrates = true } = options
  const { names, mapping, plugins } = ownNames(options)
  return openNode(
    source,
    { ...options, mapping, columns, plugins },
    async ({ kysely, connector, types, restorer }) => {
      const expectedWith = (tables: Tables = {}) =>
        expectedOfDatabase(types, {
          ...{ columns, migrates, names },
          tables: { ...tables, ...withColumns(USER_TABLES, columns) },
        })
      await offerInspection({ db: kysely, expectedWith })
      const prepared = prepareTables(kysely, types, { columns, migrates, names })
      const migrations = await prepared.catch(async (error: unknown) => {
        throw await toGrantError(kysely, { error, schema: types.schema })
      })
      const state = await installFeed(kysely, types, { mapping, columns, mayLackRights: !migrates })
      const ids = { session: 'text', user: 'text' } as const
      const lookup = { sql: sessionSql('postgres', mapping, columns), columns, ids }
      const { findSession, revocations, limits, close } = await startNode(
        { kysely, connector, restorer, state },
        lookup,
      )
      const sessions = { findSession, findToken: postgresTokens(connector.driver.query, mapping) }
      const restore = () => restorer.restore(kysely)
      const own = { columns, locks: lookup, types, migrates, names, restore }
      const database = { db: kysely, sessions, revocations, limits, ...own }
      const db = withAuthStore(kysely, { sessions, revocations, limits, database, limitStatements })
      const stopWatching = await watchNode({ kysely, restorer, state, expected: expectedWith() })
      return {
        ...database,
        db,
        migrations,
        close() {
          stopWatching()
          return close()
        },
      }
    },
  )
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
  return openNode(source, options, async ({ kysely, connector, types, restorer }) => {
    const { query } = connector.driver
    const check = () =>
      checkMapping('postgres', options, async (statement) => {
        const { rows } = await query<Row>({ text: statement })
        return rows[0]
      })
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
    const lookup = { sql: sessionSql('postgres', mapping, columns), columns, ids }
    const { findSession, close, ...store } = await startNode({ kysely, connector, restorer, state }, lookup)
    const stopPruning = pruneFeedHourly(kysely, 'postgres')
    const stopWatching = await watchNode({ kysely, restorer, state, expected })
    const writes = { db: kysely, locks: lookup, revocations: store.revocations }
    return {
      ...store,
      sessions: { findSession },
      ...(isInteractive && { locks: lookup, ...mappedSessions(writes) }),
      close() {
        stopPruning()
        stopWatching()
        return close()
      },
    }
  })
}

const NO_FEED: FeedState = { hasTables: false, hasTriggers: false, isComplete: false }

const NOT_INSTALLED =
  'sallyport: the internal tables are missing, and an HTTP client can not create them. Open the store once with a URL or a Pool. Until then, each process counts rate limits in its own memory.'

interface Node {
  readonly kysely: AuthKysely
  readonly connector: PostgresConnector
  readonly types: MigrationDialect
  readonly restorer: TableRestorer
}

interface NodeOptions extends PostgresOptions {
  readonly mapping?: StoreMapping | undefined
  readonly columns?: AddedColumns
  readonly plugins?: KyselyPlugin[]
}

/** Connects, and closes the connections if `prepare` fails. */
async function openNode<Result>(
  source: PostgresSource<PostgresClient | PostgresHttpClient>,
  { plugins = [], ...options }: NodeOptions,
  prepare: (node: Node) => Promise<Result>,
): Promise<Result> {
  const connector = await connectPostgres(source, options)
  const types = postgresTypes(connector.schema)
  const restorer: TableRestorer = {
    internal: types,
    restore: (db) => installFeed(db, types, options),
  }
  const dialect = restoringDialect(postgresDialect(connector.driver, connector), restorer)
  try {
    await checkValues(connector.driver.query)
    return await prepare({ kysely: new Kysely({ dialect, plugins }), connector, types, restorer })
  } catch (error) {
    await connector.driver.close()
    // While a program starts, the driver's error says more than a 503.
    throw isAuthError(error) ? (error.cause ?? error) : error
  }
}

/** Starts the feed and the lookups. Resolves when the first lookup can be sent. */
async function startNode(
  { kysely, connector, restorer, state }: Omit<Node, 'types'> & { state: FeedState },
  options: LookupOptions,
) {
  const { driver } = connector
  const lookups = postgresLookups(connector, options)
  const { findSession, opened } = lookups
  const feed = state.hasTables
    ? postgresFeed(connector, {
        otherConnection: (statement) => (lookups.spare() ?? driver).query(statement),
        restore: () => restorer.restore(kysely),
      })
    : leaseFeed()
  async function close(): Promise<void> {
    const revocations = await Promise.resolve(feed).catch(() => null)
    await Promise.all([revocations?.close(), lookups.close()])
    await driver.close()
  }
  try {
    const [revocations] = await Promise.all([feed, opened])
    const { query } = lookups.current() ?? driver
    const read = async (text: string, values: readonly unknown[]) => (await query({ text, values })).rows
    if (state.hasTables) await requireOwnWrites(kysely, { read, fix: OWN_WRITES })
    const limits = state.hasTables
      ? restoringLimits(postgresLimits(connector), { restorer, db: kysely })
      : memoryLimits()
    return { findSession, revocations, limits, close }
  } catch (error) {
    await close()
    throw error
  }
}

const OWN_WRITES = 'Connect to the primary, without a proxy that splits reads from writes.'

/** Stores rate limits with prepared statements. */
function postgresLimits({ driver, schema }: PostgresConnector): Required<RateLimitStore> {
  return storedLimits({ engine: 'postgres', schema }, async (text, values) => {
    let place = 0
    const numbered = text.replaceAll('?', () => `$${++place}`)
    const statement = { text: numbered, values, name: statementName('limit', text) }
    return (await orUnavailable(driver.query<Row>(statement))).rows
  })
}

/** Watches the tables. What the role may not create was reported already, so it isn't expected. */
function watchNode({
  kysely,
  restorer,
  state,
  expected,
}: Pick<Node, 'kysely' | 'restorer'> & { state: FeedState; expected: Expected }): Promise<() => void> {
  const wanted = state.isComplete ? expected : { ...expected, internalTables: {}, triggers: {} }
  return watchDatabase({
    inspect: () => inspect(kysely, wanted),
    repair: () => restorer.restore(kysely),
  })
}

/** Publishes the changes of this process. Streams of others end within their lease. */
function leaseFeed(): Awaited<ReturnType<typeof postgresFeed>> {
  return Object.assign(memoryFeed(), { close: async () => {} })
}

async function limitStatements(trx: AuthTransaction, timeoutMs: number): Promise<void> {
  await sql.raw(`set local statement_timeout = ${timeoutMs}`).execute(trx)
}
