import { NO_COLUMNS } from '../../session/added-columns.ts'
import { withAuthStore } from '../../session/auth-store.ts'
import type { OpenedDatabase, OwnTablesOptions } from '../database.ts'
import { sessionSql } from '../find-session-sql.ts'
import { applyNames } from '../schema/apply-names.ts'
import { expectedOfDatabase } from '../schema/expected.ts'
import { offerInspection } from '../schema/inspect-opened.ts'
import { prepareTables } from '../schema/prepare-tables.ts'
import type { Tables } from '../schema/table.ts'
import type { PostgresOptions, PostgresSource } from './connect.ts'
import { postgresTokens } from './find-session.ts'
import { toGrantError } from './install-faults.ts'
import { installFeed } from './install-feed.ts'
import { openNode, startNode } from './node.ts'
import { checkRowSecurity } from './row-security.ts'

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
  const { names, mapping, plugins } = applyNames(options)
  return openNode(source, { ...options, mapping, columns, plugins }, async (node) => {
    const { kysely, connector, types, restorer } = node
    const ids = { session: 'text', user: 'text' } as const
    const lookup = { sql: sessionSql('postgres', mapping, columns), columns, ids }
    const check = () => checkRowSecurity(connector.driver, lookup)
    const expectedWith = (pluginTables: Tables = {}) =>
      expectedOfDatabase(types, { pluginTables, columns, migrates, names })
    await offerInspection({ db: kysely, expectedWith, columns, check })
    const prepared = prepareTables(kysely, types, { columns, migrates, names })
    const migrations = await prepared.catch(async (error: unknown) => {
      throw await toGrantError(kysely, { error, schema: types.schema })
    })
    await check()
    const state = await installFeed(kysely, types, { mapping, columns, mayLackRights: !migrates })
    const { close, ...store } = await startNode(node, { ...lookup, state, expected: expectedWith() })
    const { revocations, limits } = store
    const findToken = postgresTokens(connector.driver, lookup, mapping)
    const sessions = { ...store.sessions, findToken }
    const restore = () => restorer.restore(kysely)
    const own = { columns, locks: lookup, types, migrates, names, restore }
    const database = { db: kysely, sessions, revocations, limits, ...own }
    const db = withAuthStore(kysely, { sessions, revocations, limits, database })
    return { ...database, db, migrations, close }
  })
}
