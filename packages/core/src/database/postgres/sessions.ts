import type { Client, Pool } from 'pg'
import { withDeadline } from '../../protocol/deadline.ts'
import { type AddedColumns, addedLists, NO_COLUMNS } from '../../session/added-columns.ts'
import type {
  SessionKey,
  SessionReader,
  SessionStore,
  SessionToken,
  StoredSession,
} from '../../session/session.ts'
import { type LookupValues, sessionOf } from '../../session/session-row.ts'
import type { SessionSql } from '../session-sql.ts'
import type { PostgresConnector } from './connect.ts'
import { orUnavailable } from './errors.ts'
import { type IdTypes, isIdOf } from './ids.ts'
import { type LookupQueue, lookupQueue } from './lookup-queue.ts'

export interface LookupOptions {
  readonly sql: SessionSql
  readonly ids: IdTypes
  /** The added columns that `sql` reads. @default none */
  readonly columns?: AddedColumns
}

/** Step 2 as one statement for any number of sessions. `place` is the position of the key, from 1. */
function batchStatement({ session, user, added }: SessionSql, ids: IdTypes): string {
  return `select k.place::int4, ${session.columns}, ${user.columns}${added}
    from unnest($1::${ids.session}[], $2::${ids.user}[]) with ordinality as k("id", "userId", place)
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
  connector: PostgresConnector,
  { sql, ids, columns = NO_COLUMNS }: LookupOptions,
): SessionReader & Pick<LookupQueue, 'close'> {
  const { lookupTimeoutMs: timeoutMs } = connector
  const text = batchStatement(sql, ids)
  const added = addedLists(columns)

  async function findAll(client: Client, keys: readonly SessionKey[]): Promise<(StoredSession | null)[]> {
    const values = [keys.map(({ sessionId }) => sessionId), keys.map(({ userId }) => userId)]
    const query = { name: 'sallyport_lookup', text, values, rowMode: 'array' }
    const { rows } = await withDeadline(client.query<[place: number, ...LookupValues]>(query), timeoutMs)
    const found = new Map(rows.map(([place, ...values]) => [place, values]))
    return keys.map((key, index) => {
      const values = found.get(index + 1)
      return values === undefined ? null : sessionOf(key, values, added)
    })
  }

  async function prepare(client: Client): Promise<void> {
    // The planner assumes ten keys and would plan each statement again, which costs more than running it.
    await withDeadline(client.query('set plan_cache_mode = force_generic_plan'), timeoutMs)
    await findAll(client, [])
  }

  const { find, close } = lookupQueue({ connector, prepare, findAll })
  return {
    findSession: (key) =>
      isIdOf(ids.session, key.sessionId) && isIdOf(ids.user, key.userId) ? find(key) : null,
    close,
  }
}

const TOKEN_STATEMENT = `select "userId", token, "previousToken", "rotatedAt", "tokenFamily", version,
  "provedVersion", "expiresAt", "createdAt", "lastSeenAt", remembered from session where id = $1`

/** Reads what the token endpoint needs from our own table `session`. */
export function postgresTokens(pool: Pool): SessionStore['findToken'] {
  return async (sessionId) => {
    if (!isIdOf('text', sessionId)) return null
    const query = { name: 'sallyport_token', text: TOKEN_STATEMENT, values: [sessionId] }
    const { rows } = await orUnavailable(pool.query<SessionToken>(query))
    const [row] = rows
    // The driver reads `infinity` as a number.
    return row === undefined ? null : { ...row, expiresAt: new Date(row.expiresAt) }
  }
}
