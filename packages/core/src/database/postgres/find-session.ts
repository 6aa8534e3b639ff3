import { withDeadline } from '../../protocol/deadline.ts'
import { addedLists, NO_COLUMNS } from '../../session/added-columns.ts'
import { type IdTypes, isIdOf } from '../../session/id-types.ts'
import type { SessionKey, SessionReader, SessionStore, SessionToken } from '../../session/session.ts'
import { type LookupValues, sessionOf } from '../../session/session-row.ts'
import { type SessionLocks, type SessionSql, tokenStatement } from '../find-session-sql.ts'
import { UNDEFINED_TABLE } from '../restore-tables.ts'
import type { StoreMapping } from '../schema/mapping.ts'
import { sqlState } from '../sql-state.ts'
import type { PostgresConnector } from './connect.ts'
import type { LookupConnection, PostgresDriver, Statement, StatementResult } from './drivers/driver.ts'
import { orUnavailable } from './drivers/errors.ts'
import { onPrimary } from './drivers/primary.ts'
import { type LookupQueue, type LookupResult, lookupQueue, unavailable } from './lookup-queue.ts'
import { requireAllRows } from './row-security.ts'
import { sharedLookups } from './shared-lookups.ts'
import { statementName } from './statement-names.ts'

export interface LookupOptions extends SessionLocks {
  readonly ids: IdTypes
}

/**
 * Step 2 as one statement for any number of sessions. `place` is the position of the key, from 1. It checks
 * the server each time: a pooler's connections outlive a server that becomes a replica.
 */
function batchStatement(sql: SessionSql, ids: IdTypes): string {
  const keys = `unnest(${onPrimary('$1::text')}::${ids.session}[], $2::${ids.user}[])`
  return `select k.place::float8, ${statementFrom(`${keys} with ordinality as k("id", "userId", place)`, sql)}`
}

/**
 * The same for one session. The planner knows that it is one, so it doesn't plan the statement again for
 * each lookup, which takes as long as running it.
 */
function singleStatement(sql: SessionSql, ids: IdTypes): string {
  // The cast is inside, so it fails even if no session is found.
  const key = `select $1::${ids.session}, $2::${ids.user}, ${onPrimary("'1'")}::float8`
  return `select ${statementFrom(`(${key}) as k("id", "userId")`, sql)}`
}

function statementFrom(keys: string, { session, user }: SessionSql): string {
  return `${session.columns}, ${user.columns}${session.added}${user.added}
    from ${keys}
    join ${session.table} s on s.${session.id} = k."id" and s.${session.userId} = k."userId"
    join ${user.table} u on u.${user.id} = s.${session.userId}`
}

/**
 * Runs Step 2 in batches. The first lookup is sent at once. Lookups that arrive while it runs are sent
 * together when it returns, as one prepared statement. A lookup never joins a statement that was already
 * sent, so it sees every earlier commit.
 *
 * The standby replaces a connection that doesn't respond in time. Lookups on a broken connection are retried
 * once. Without a connection, lookups wait for the current attempt to connect. If it fails, so do they.
 */
export function postgresLookups(
  { driver, named, lookupTimeoutMs: timeoutMs, lookups: limits, meter }: PostgresConnector,
  { sql, ids, columns = NO_COLUMNS }: LookupOptions,
): SessionReader & Omit<LookupQueue, 'find'> {
  const single = statementOf(singleStatement(sql, ids))
  const batch = statementOf(batchStatement(sql, ids))
  const added = addedLists(columns)
  const dedicated = limits.parallel === 1 ? driver.openLookups : undefined

  function run<Row>(
    { lookUp }: LookupConnection,
    { text, name }: Named,
    values: readonly unknown[],
  ): Promise<StatementResult<Row>> {
    const statement = { text, name, values, rowMode: 'array' } as const
    // The driver's own `query` is named already.
    const result = dedicated ? named<Row>(lookUp, statement) : lookUp<Row>(statement)
    return withDeadline(result, timeoutMs)
  }

  /** Returns the result of lookups that found nothing. Found sessions don't wait for it. */
  function missing({ query, rejectsHiddenRows }: LookupConnection): null | Promise<null> {
    if (rejectsHiddenRows) return null
    const checked = withDeadline(requireAllRows({ ...driver, query }, { sql, columns }), timeoutMs).then(
      () => null,
      (error: unknown) => {
        throw unavailable(error)
      },
    )
    // The callers may have given up.
    checked.catch(() => {})
    return checked
  }

  async function findAll(connection: LookupConnection, keys: readonly SessionKey[]): Promise<LookupResult[]> {
    const [key] = keys
    if (key !== undefined && keys.length === 1) {
      const { rows } = await run<LookupValues>(connection, single, [key.sessionId, key.userId])
      const [row] = rows
      return [row === undefined ? missing(connection) : sessionOf(key, row, added)]
    }
    const values = [keys.map(({ sessionId }) => sessionId), keys.map(({ userId }) => userId)]
    const { rows } = await run<[place: number, ...LookupValues]>(connection, batch, values)
    const sessions: LookupResult[] = keys.map(() => null)
    for (const [place, ...values] of rows) {
      const key = keys[place - 1]
      if (key !== undefined) sessions[place - 1] = sessionOf(key, values, added)
    }
    if (!sessions.includes(null)) return sessions
    const result = missing(connection)
    return sessions.map((session) => session ?? result)
  }

  const { find, ...lookups } = lookupQueue({
    ...limits,
    openConnections: dedicated ?? ((events) => sharedLookups(driver, events)),
    prepare: (connection) => findAll(connection, []).then(() => {}, ignoreMissingTable),
    findAll,
    timeoutMs,
    meter,
  })
  return {
    findSession: (key) =>
      isIdOf(ids.session, key.sessionId) && isIdOf(ids.user, key.userId) ? find(key) : null,
    ...lookups,
  }
}

/** A plugin may not have created a table that Step 2 reads. Until then lookups fail, not connections. */
function ignoreMissingTable(error: unknown): void {
  if (sqlState(error) !== UNDEFINED_TABLE) throw error
}

/** Reads what the token endpoint needs from our own table `session`. */
export function postgresTokens(
  driver: PostgresDriver,
  lookup: SessionLocks,
  mapping?: StoreMapping,
): SessionStore['findToken'] {
  const text = `${tokenStatement('postgres', mapping)}$1`
  const name = statementName('token', text)
  return async (sessionId) => {
    if (!isIdOf('text', sessionId)) return null
    const { rows } = await orUnavailable(driver.query<SessionToken>({ name, text, values: [sessionId] }))
    const [row] = rows
    if (row === undefined) {
      await requireAllRows(driver, lookup)
      return null
    }
    // The driver reads `infinity` as a number.
    return { ...row, expiresAt: new Date(row.expiresAt) }
  }
}

type Named = Required<Pick<Statement, 'text' | 'name'>>

function statementOf(text: string): Named {
  return { text, name: statementName('lookup', text) }
}
