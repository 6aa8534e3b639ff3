import { Kysely, type KyselyPlugin } from 'kysely'
import { isAuthError } from '../../protocol/errors.ts'
import { memoryLimits } from '../../rate-limit/memory-limits.ts'
import type { RateLimitStore } from '../../rate-limit/rate-limit.ts'
import { memoryFeed, type RevocationFeed } from '../../revocations/feed.ts'
import type { AddedColumns } from '../../session/added-columns.ts'
import type { SessionReader } from '../../session/session.ts'
import type { Row } from '../../session/session-row.ts'
import { restoringLimits, storedLimits } from '../limits.ts'
import { requireOwnWrites } from '../own-writes.ts'
import { restoringDialect, type TableRestorer } from '../restore-tables.ts'
import { lockSettings } from '../schema/change-tables.ts'
import { type Expected, inspect } from '../schema/inspect.ts'
import type { AuthKysely } from '../schema/kysely-tables.ts'
import type { StoreMapping } from '../schema/mapping.ts'
import { type MigrationDialect, postgresTypes } from '../schema/migrations.ts'
import { stateOf } from '../sql-state.ts'
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
import type { PostgresDriver } from './drivers/driver.ts'
import { orUnavailable } from './drivers/errors.ts'
import { checkPrimary } from './drivers/primary.ts'
import { postgresFeed } from './feed.ts'
import type { FeedState } from './feed-state.ts'
import { type LookupOptions, postgresLookups } from './find-session.ts'
import { installFeed } from './install-feed.ts'
import { statementName } from './statement-names.ts'

/** This process as a node of the database. */
export interface Node {
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
export async function openNode<Result>(
  source: PostgresSource<PostgresClient | PostgresHttpClient>,
  { plugins = [], ...options }: NodeOptions,
  prepare: (node: Node) => Promise<Result>,
): Promise<Result> {
  const connector = await connectPostgres(source, options)
  const types = { ...postgresTypes(connector.schema), ...lockSettings(options.statementTimeoutMs) }
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

interface StartOptions extends LookupOptions {
  readonly state: FeedState
  readonly expected: Expected
}

interface StartedNode {
  readonly sessions: SessionReader
  readonly revocations: RevocationFeed
  readonly limits: Required<RateLimitStore>
  close(): Promise<void>
}

/** Starts the feed and the lookups, and watches the tables. Resolves when the first lookup can be sent. */
export async function startNode(
  { kysely, connector, restorer }: Node,
  { state, expected, ...lookup }: StartOptions,
): Promise<StartedNode> {
  const { driver, meter } = connector
  const lookups = postgresLookups(connector, lookup)
  const { opened } = lookups
  // Our own connections stay open anyway.
  const isAlwaysUsed = driver.openLookups !== undefined
  let wasUsed = true
  const findSession: SessionReader['findSession'] = (key) => {
    wasUsed = true
    return lookups.findSession(key)
  }
  const feed = state.hasTables
    ? postgresFeed(connector, {
        otherConnection: (statement) => (lookups.spare() ?? driver).query(statement),
        isUsed() {
          const isUsed = wasUsed
          wasUsed = isAlwaysUsed
          return isUsed
        },
        restore: () => restorer.restore(kysely),
      })
    : leaseFeed()
  let stopWatching = () => {}
  async function close(): Promise<void> {
    stopWatching()
    const revocations = await Promise.resolve(feed).catch(() => null)
    await Promise.all([revocations?.close(), lookups.close()])
    await driver.close()
  }
  try {
    const [revocations] = await Promise.all([feed, opened])
    const { query } = lookups.current() ?? driver
    const read = async (text: string, values: readonly unknown[]) => (await query({ text, values })).rows
    if (state.hasTables)
      await requireOwnWrites(kysely, { read, fix: OWN_WRITES }).catch((error) =>
        acceptReadOnly(driver, error),
      )
    const limits = state.hasTables
      ? restoringLimits(postgresLimits(connector), { restorer, db: kysely })
      : memoryLimits()
    // What the role may not create was reported already.
    const wanted = state.isComplete ? expected : { ...expected, internalTables: {}, triggers: {} }
    stopWatching = await watchDatabase({
      inspect: () => inspect(kysely, wanted),
      repair: () => restorer.restore(kysely),
    })
    return { sessions: { findSession, meter }, revocations, limits, close }
  } catch (error) {
    await close()
    throw error
  }
}

const OWN_WRITES = 'Connect to the primary, without a proxy that splits reads from writes.'

/** The SQLSTATEs of a server that rejects all writes, or has no space for them. */
const READ_ONLY = new Set<unknown>(['25006', '53100'])

/** Warns if the primary can't be written, as on a full disk: signed-in users can still call procedures. */
async function acceptReadOnly({ query }: PostgresDriver, error: unknown): Promise<void> {
  if (!READ_ONLY.has(stateOf(error))) throw error
  await checkPrimary(query)
  console.warn(
    'sallyport: the database is read-only or full. Sessions are checked as before, but sign-ins, refreshes, and all other writes fail until it accepts them.',
  )
}

/** Stores rate limits with prepared statements. */
function postgresLimits({ driver, schema }: PostgresConnector): Required<RateLimitStore> {
  return storedLimits({ engine: 'postgres', schema }, async (text, values) => {
    let place = 0
    const numbered = text.replaceAll('?', () => `$${++place}`)
    const statement = { text: numbered, values, name: statementName('limit', text) }
    return (await orUnavailable(driver.query<Row>(statement))).rows
  })
}

/** Publishes the changes of this process. Streams of others end within their lease. */
function leaseFeed(): Awaited<ReturnType<typeof postgresFeed>> {
  return Object.assign(memoryFeed(), { close: async () => {} })
}
