import type { Database } from 'better-sqlite3'
import { type AddedColumns, addedLists, NO_COLUMNS } from '../../session/added-columns.ts'
import type { SessionKey, StoredSession } from '../../session/session.ts'
import { type LookupValues, sessionOf } from '../../session/session-row.ts'
import type { SessionReader, SessionStore, SessionToken } from '../../session/session-store.ts'
import { toDate, toNullableDate } from '../schema.ts'
import { type SessionSql, sessionSql } from '../session-sql.ts'

/**
 * Step 2 as one statement. The unary plus keeps SQLite from preparing the statement again for every new value, which its
 * statistics otherwise make it do.
 */
export function lookupStatement({ session, user, added }: SessionSql): string {
  return `select ${session.columns}, ${user.columns}${added}
    from ${session.table} s join ${user.table} u on u.${user.id} = s.${session.userId}
    where s.${session.id} = +? and s.${session.userId} = +?`
}

interface TokenRow {
  userId: string
  token: string
  previousToken: string | null
  rotatedAt: string | null
  tokenFamily: string | null
  version: number
  provedVersion: number
  expiresAt: string
  createdAt: string
  lastSeenAt: string
  remembered: number
}

interface Waiting {
  readonly key: SessionKey
  readonly resolve: (session: StoredSession | null) => void
  readonly reject: (error: unknown) => void
}

/** Step 2 and session cookies on a connection that only reads. */
export function sqliteSessions(reader: Database, columns: AddedColumns = NO_COLUMNS): SessionStore {
  const findToken = reader.prepare<[string], TokenRow>(
    `select userId, token, previousToken, rotatedAt, tokenFamily, version, provedVersion, expiresAt, createdAt,
        lastSeenAt, remembered
      from session where id = +?`,
  )
  return {
    ...sqliteLookups(reader, sessionSql('sqlite', undefined, columns), columns),
    async findToken(sessionId) {
      if (!sessionId.isWellFormed()) return null
      const row = findToken.get(sessionId)
      return row === undefined ? null : toSessionToken(row)
    },
  }
}

/**
 * Step 2 on a connection that only reads.
 *
 * While lookups come one in a turn of the event loop, each runs at once. When a turn has brought several, those of the next one
 * wait for its end and run together in one read transaction, which costs half as much. The transaction is over before anything else
 * can happen, so every lookup sees all writes that were committed before it was asked for.
 */
export function sqliteLookups(
  reader: Database,
  sql: SessionSql,
  columns: AddedColumns = NO_COLUMNS,
): SessionReader {
  const added = addedLists(columns)
  const lookup = reader.prepare<[string, string], LookupValues>(lookupStatement(sql)).raw()
  const begin = reader.prepare('begin')
  const commit = reader.prepare('commit')
  const rollback = reader.prepare('rollback')
  let waiting: Waiting[] = []
  let lookupsThisTurn = 0
  let isBusy = false

  function find(key: SessionKey): StoredSession | null {
    // The driver would replace what is no text, and ask for another session.
    if (!key.sessionId.isWellFormed() || !key.userId.isWellFormed()) return null
    const row = lookup.get(key.sessionId, key.userId)
    return row === undefined ? null : sessionOf(key, row, added)
  }

  function endTurn(): void {
    isBusy = lookupsThisTurn > 1
    lookupsThisTurn = 0
    const batch = waiting
    waiting = []
    if (batch.length > 0) findTogether(batch)
  }

  function findTogether(batch: readonly Waiting[]): void {
    // In memory there is one connection for everything, which may be inside a transaction already.
    const isOwnTransaction = !reader.inTransaction
    try {
      if (isOwnTransaction) begin.run()
      for (const { key, resolve } of batch) resolve(find(key))
      if (isOwnTransaction) commit.run()
    } catch (error) {
      // Those answered before the failure stay answered; a promise settles once.
      for (const { reject } of batch) reject(error)
      if (isOwnTransaction) giveUpTransaction()
    }
  }

  function giveUpTransaction(): void {
    try {
      if (reader.inTransaction) rollback.run()
    } catch {
      // The connection is lost, as the callers have just been told.
    }
  }

  return {
    findSession(key) {
      lookupsThisTurn++
      if (lookupsThisTurn === 1) setImmediate(endTurn)
      if (!isBusy) return find(key)
      return new Promise((resolve, reject) => waiting.push({ key, resolve, reject }))
    },
  }
}

function toSessionToken(row: TokenRow): SessionToken {
  return {
    ...row,
    rotatedAt: toNullableDate(row.rotatedAt),
    expiresAt: toDate(row.expiresAt),
    createdAt: toDate(row.createdAt),
    lastSeenAt: toDate(row.lastSeenAt),
    remembered: row.remembered !== 0,
  }
}
