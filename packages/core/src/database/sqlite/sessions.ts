import type { Database } from 'better-sqlite3'
import type { Selectable } from 'kysely'
import { type AddedColumns, addedLists, NO_COLUMNS } from '../../session/added-columns.ts'
import type {
  SessionKey,
  SessionReader,
  SessionStore,
  SessionToken,
  StoredSession,
} from '../../session/session.ts'
import { type LookupValues, sessionOf } from '../../session/session-row.ts'
import { type SessionTable, toNullableDate } from '../schema.ts'
import { type SessionSql, sessionSql } from '../session-sql.ts'

/**
 * Returns Step 2 as one statement. The unary plus stops SQLite from preparing the statement again for every
 * new value because of its statistics.
 */
export function lookupStatement({ session, user, added }: SessionSql): string {
  return `select ${session.columns}, ${user.columns}${added}
    from ${session.table} s join ${user.table} u on u.${user.id} = s.${session.userId}
    where s.${session.id} = +? and s.${session.userId} = +?`
}

export function sqliteSessions(reader: Database, columns: AddedColumns = NO_COLUMNS): SessionStore {
  const findToken = reader.prepare<[string], Pick<Selectable<SessionTable>, keyof SessionToken>>(
    `select userId, token, previousToken, rotatedAt, tokenFamily, version, provedVersion, expiresAt, createdAt,
        lastSeenAt, remembered
      from session where id = +?`,
  )
  return {
    ...sqliteLookups(reader, sessionSql('sqlite', undefined, columns), columns),
    async findToken(sessionId) {
      if (!sessionId.isWellFormed()) return null
      const row = findToken.get(sessionId)
      if (row === undefined) return null
      const [expiresAt, createdAt] = [new Date(row.expiresAt), new Date(row.createdAt)]
      const [rotatedAt, lastSeenAt] = [toNullableDate(row.rotatedAt), new Date(row.lastSeenAt)]
      return { ...row, rotatedAt, expiresAt, createdAt, lastSeenAt, remembered: row.remembered !== 0 }
    },
  }
}

/**
 * Runs Step 2 on a read-only connection. One lookup per turn of the event loop runs at once. After a turn
 * with several, the lookups of the next turn run together at its end in one read transaction, which costs
 * half as much. It is synchronous, so each lookup sees everything that was committed before it was called.
 */
export function sqliteLookups(
  reader: Database,
  sql: SessionSql,
  columns: AddedColumns = NO_COLUMNS,
): SessionReader {
  const added = addedLists(columns)
  const lookup = reader.prepare<[string, string], LookupValues>(lookupStatement(sql)).raw()
  let queue: (Pick<PromiseWithResolvers<StoredSession | null>, 'resolve' | 'reject'> & {
    key: SessionKey
  })[] = []
  let lookupsThisTurn = 0
  let isBusy = false

  function find(key: SessionKey): StoredSession | null {
    // The driver would replace malformed text, and find another session.
    if (!key.sessionId.isWellFormed() || !key.userId.isWellFormed()) return null
    const row = lookup.get(key.sessionId, key.userId)
    return row === undefined ? null : sessionOf(key, row, added)
  }

  function endTurn(): void {
    isBusy = lookupsThisTurn > 1
    lookupsThisTurn = 0
    const batch = queue
    queue = []
    try {
      if (batch.length > 0) findAll(batch)
    } catch (error) {
      // Has no effect on lookups that were resolved before the error.
      for (const { reject } of batch) reject(error)
    }
  }

  const findAll = reader.transaction((batch: typeof queue) => {
    for (const { key, resolve } of batch) resolve(find(key))
  })

  return {
    findSession(key) {
      lookupsThisTurn++
      if (lookupsThisTurn === 1) setImmediate(endTurn)
      if (!isBusy) return find(key)
      return new Promise((resolve, reject) => queue.push({ key, resolve, reject }))
    },
  }
}
