import type { Database } from 'better-sqlite3'
import type { SessionStore, SessionToken } from '../adapters/adapter.ts'
import type { Session, SessionKey } from '../session/session.ts'
import { toDate, toNullableDate } from './schema.ts'

/** One row of {@link LOOKUP}, in its order: arrays are read faster than objects. */
type Row = [
  expiresAt: string,
  lastAuthenticatedAt: string,
  name: string,
  email: string,
  role: string,
  banned: number,
  banReason: string | null,
  banExpires: string | null,
]

/**
 * Step 2 as one statement. The unary plus keeps SQLite from preparing the statement again for every new value, which its
 * statistics otherwise make it do.
 */
export const LOOKUP = `select s.expiresAt, s.lastAuthenticatedAt,
  u.name, u.email, u.role, u.banned, u.banReason, u.banExpires
  from session s join user u on u.id = s.userId
  where s.id = +? and s.userId = +?`

interface TokenRow {
  userId: string
  token: string
  previousToken: string | null
  rotatedAt: string | null
  tokenFamily: string | null
  expiresAt: string
  createdAt: string
  lastSeenAt: string
  remembered: number
}

interface Waiting {
  readonly key: SessionKey
  readonly resolve: (session: Session | null) => void
  readonly reject: (error: unknown) => void
}

/**
 * Step 2 on a connection that only reads.
 *
 * While lookups come one in a turn of the event loop, each runs at once. When a turn has brought several, those of the next one
 * wait for its end and run together in one read transaction, which costs half as much. The transaction is over before anything else
 * can happen, so every lookup sees all writes that were committed before it was asked for.
 */
export function sqliteSessions(reader: Database): SessionStore {
  const lookup = reader.prepare<[string, string], Row>(LOOKUP).raw()
  const findToken = reader.prepare<[string], TokenRow>(
    `select userId, token, previousToken, rotatedAt, tokenFamily, expiresAt, createdAt, lastSeenAt, remembered
      from session where id = +?`,
  )
  const begin = reader.prepare('begin')
  const commit = reader.prepare('commit')
  const rollback = reader.prepare('rollback')
  let waiting: Waiting[] = []
  let lookupsThisTurn = 0
  let isBusy = false

  function find({ sessionId, userId }: SessionKey): Session | null {
    const row = lookup.get(sessionId, userId)
    return row === undefined ? null : toSession(sessionId, userId, row)
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
    async findToken(sessionId) {
      const row = findToken.get(sessionId)
      return row === undefined ? null : toSessionToken(row)
    },
  }
}

function toSession(id: string, userId: string, row: Row): Session {
  const [expiresAt, lastAuthenticatedAt, name, email, role, banned, banReason, banExpires] = row
  return {
    id,
    userId,
    expiresAt: toDate(expiresAt),
    lastAuthenticatedAt,
    user: {
      id: userId,
      name,
      email,
      role,
      banned: banned !== 0,
      banReason,
      banExpires: toNullableDate(banExpires),
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
