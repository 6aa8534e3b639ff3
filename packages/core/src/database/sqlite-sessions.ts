import type { Database } from 'better-sqlite3'
import type { SessionStore } from '../adapters/adapter.ts'
import type { Session, SessionKey } from '../session/session.ts'
import { toDate, toNullableDate } from './schema.ts'

/** One row of {@link LOOKUP}, in its order: arrays are read faster than objects. */
type Row = [
  expiresAt: string,
  createdAt: string,
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
const LOOKUP = `select s.expiresAt, s.createdAt, s.lastAuthenticatedAt,
  u.name, u.email, u.role, u.banned, u.banReason, u.banExpires
  from session s join user u on u.id = s.userId
  where s.id = +? and s.userId = +?`

interface Waiting {
  readonly key: SessionKey
  readonly resolve: (session: Session | null) => void
  readonly reject: (error: unknown) => void
}

/**
 * Step 2 on a connection that only reads. Lookups of one tick run together at its end, in one read transaction that is over
 * before anything else can happen: each sees every write that was committed before it was asked for.
 */
export function sqliteSessions(reader: Database): SessionStore {
  const lookup = reader.prepare<[string, string], Row>(LOOKUP).raw()
  const findToken = reader.prepare<[string], { userId: string; token: string }>(
    'select userId, token from session where id = +?',
  )
  const begin = reader.prepare('begin')
  const commit = reader.prepare('commit')
  let waiting: Waiting[] = []

  function find({ sessionId, userId }: SessionKey): Session | null {
    const row = lookup.get(sessionId, userId)
    return row === undefined ? null : toSession(sessionId, userId, row)
  }

  function flush(): void {
    const batch = waiting
    waiting = []
    const together = batch.length > 1 && !reader.inTransaction
    try {
      if (together) begin.run()
      for (const { key, resolve } of batch) resolve(find(key))
    } catch (error) {
      // Those answered before the failure stay answered; a promise settles once.
      for (const { reject } of batch) reject(error)
    } finally {
      if (together && reader.inTransaction) commit.run()
    }
  }

  return {
    findSession(key) {
      return new Promise((resolve, reject) => {
        waiting.push({ key, resolve, reject })
        if (waiting.length === 1) queueMicrotask(flush)
      })
    },
    async findToken(sessionId) {
      return findToken.get(sessionId) ?? null
    },
  }
}

function toSession(id: string, userId: string, row: Row): Session {
  const [expiresAt, createdAt, lastAuthenticatedAt, name, email, role, banned, banReason, banExpires] = row
  return {
    id,
    userId,
    createdAt: toDate(createdAt),
    expiresAt: toDate(expiresAt),
    lastAuthenticatedAt: toDate(lastAuthenticatedAt),
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
