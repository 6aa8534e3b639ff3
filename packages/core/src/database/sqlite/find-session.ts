import type { Selectable } from 'kysely'
import type { StoreMeter } from '../../events/telemetry.ts'
import { type AddedColumns, addedLists, NO_COLUMNS } from '../../session/added-columns.ts'
import { readDate } from '../../session/read-date.ts'
import type {
  SessionKey,
  SessionReader,
  SessionStore,
  SessionToken,
  StoredSession,
} from '../../session/session.ts'
import { type LookupValues, type Row, sessionOf } from '../../session/session-row.ts'
import { type SessionSql, tokenStatement } from '../find-session-sql.ts'
import { type SessionTable, toNullableDate } from '../schema/kysely-tables.ts'
import type { StoreMapping } from '../schema/mapping.ts'
import type { RowStatement, SqliteConnection } from './connections/connection.ts'
import { isBusy, type RetryWhileBusy } from './connections/errors.ts'
import type { RunStatement } from './driver.ts'

/**
 * Returns Step 2 as one statement. The unary plus stops SQLite from preparing the statement again for every
 * new value because of its statistics.
 */
export function lookupStatement({ session, user }: SessionSql): string {
  return `select ${session.columns}, ${user.columns}${session.added}${user.added}
    from ${session.table} s join ${user.table} u on u.${user.id} = s.${session.userId}
    where s.${session.id} = +? and s.${session.userId} = +?`
}

/** Reads what the token endpoint needs from our own table `session`. */
export function sqliteTokens(read: RunStatement, mapping?: StoreMapping): SessionStore['findToken'] {
  const statement = `${tokenStatement('sqlite', mapping)}+?`
  return async (sessionId) => {
    if (!sessionId.isWellFormed()) return null
    const [row] = await read(statement, [sessionId])
    return row === undefined ? null : toSessionToken(row as Row & TokenRow)
  }
}

type TokenRow = Pick<Selectable<SessionTable>, keyof SessionToken>

function toSessionToken(row: TokenRow): SessionToken {
  const [expiresAt, createdAt] = [readDate(row.expiresAt), readDate(row.createdAt)]
  const [rotatedAt, lastSeenAt] = [toNullableDate(row.rotatedAt), readDate(row.lastSeenAt)]
  return { ...row, rotatedAt, expiresAt, createdAt, lastSeenAt, remembered: row.remembered !== 0 }
}

interface LookupOptions {
  readonly sql: SessionSql
  readonly columns?: AddedColumns
  readonly retryWhileBusy: RetryWhileBusy
  readonly meter?: StoreMeter
}

/**
 * Runs Step 2 on a read-only connection. One lookup per turn of the event loop runs at once. After a turn
 * with several, the lookups of the next turn run together at its end in one read transaction, which costs
 * half as much. It is synchronous, so each lookup sees everything that was committed before it was called.
 *
 * If the file isn't in WAL mode, another process that writes locks out readers. The lookup then waits without
 * blocking the event loop.
 */
export function sqliteLookups(
  reader: SqliteConnection,
  { sql, columns = NO_COLUMNS, retryWhileBusy, meter }: LookupOptions,
): SessionReader {
  const added = addedLists(columns)
  // Prepared by the first lookup: a plugin may not have created a table that it reads.
  let lookup: RowStatement<LookupValues> | undefined
  const begin = reader.prepare('begin')
  const commit = reader.prepare('commit')
  let queue: Waiting[] = []
  let lookupsThisTurn = 0
  let isCrowded = false

  function find(key: SessionKey): StoredSession | null {
    // The driver would replace malformed text, and find another session.
    if (!key.sessionId.isWellFormed() || !key.userId.isWellFormed()) return null
    lookup ??= prepareLookup()
    const row = lookup.get(key.sessionId, key.userId)
    return row === undefined ? null : sessionOf(key, row, added)
  }

  function prepare(): RowStatement<LookupValues> {
    return reader.prepareRow<LookupValues>(lookupStatement(sql))
  }

  /** If another process writes, SQLite says that a table that is new to this connection is missing. */
  function prepareLookup(): RowStatement<LookupValues> {
    try {
      return prepare()
    } catch (error) {
      // libsql aborts the process if a closed connection is used.
      if (!/no such (table|column)/.test(String(error))) throw error
      return inReadTransaction(() => {
        // Takes the read lock and reads a changed schema, or throws that the file is busy.
        reader.prepare('select name from sqlite_master').all([])
        return prepare()
      })
    }
  }

  function endTurn(): void {
    isCrowded = lookupsThisTurn > 1
    lookupsThisTurn = 0
    const batch = queue
    queue = []
    let resolved = 0
    try {
      if (batch.length > 0) {
        meter?.telemetry?.record('batch', batch.length, { system: meter.system })
        inReadTransaction(() => {
          for (const { key, resolve } of batch) {
            resolve(find(key))
            resolved++
          }
        })
      }
    } catch (error) {
      for (const { key, resolve, reject } of batch.slice(resolved)) {
        if (isBusy(error)) resolve(retryWhileBusy(() => find(key)))
        else reject(error)
      }
    }
  }

  function inReadTransaction<Result>(read: () => Result): Result {
    // In memory, a transaction may be open on the only connection.
    const isNested = reader.inTransaction
    try {
      if (!isNested) begin.run([])
      return read()
    } finally {
      // Some errors have ended it, and with libsql, `begin` can fail after it has begun.
      if (!isNested && reader.inTransaction) commit.run([])
    }
  }

  return {
    meter,
    findSession(key) {
      lookupsThisTurn++
      if (lookupsThisTurn === 1) setImmediate(endTurn)
      if (isCrowded) return new Promise((resolve, reject) => queue.push({ key, resolve, reject }))
      meter?.telemetry?.record('batch', 1, { system: meter.system })
      try {
        return find(key)
      } catch (error) {
        if (isBusy(error)) return retryWhileBusy(() => find(key))
        throw error
      }
    },
  }
}

type Waiting = Pick<PromiseWithResolvers<StoredSession | null>, 'resolve' | 'reject'> & { key: SessionKey }
