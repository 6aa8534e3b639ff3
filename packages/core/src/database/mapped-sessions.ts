import { sql } from 'kysely'
import type { RevocationFeed } from '../revocations/feed.ts'
import { addedLists, NO_COLUMNS } from '../session/added-columns.ts'
import { isIdOf } from '../session/id-types.ts'
import type { Session } from '../session/session.ts'
import { type Row, toSession, USER_COLUMNS } from '../session/session-row.ts'
import type { SessionLocks } from './find-session-sql.ts'
import type { AuthKysely } from './schema/kysely-tables.ts'

/** A session in a list of a user's sessions, with the added columns. */
export type OwnSession = Omit<Session, 'user'>

/** Lists and ends the sessions of a user, in tables that another library owns. */
export interface OwnSessions {
  /** Returns the unexpired sessions of a user. The one that authenticated last comes first. */
  listSessions(userId: string): Promise<OwnSession[]>
  /**
   * Deletes sessions of a user: all, only `sessionId`, or all except `exceptId`. Their live streams end.
   * Returns how many ended.
   * @example await store.revokeSessions(ctx.session.userId, { exceptId: ctx.session.id })
   */
  revokeSessions(userId: string, which?: { sessionId?: string; exceptId?: string }): Promise<number>
}

interface MappedSessions {
  readonly db: AuthKysely
  readonly locks: SessionLocks
  readonly revocations: RevocationFeed
}

/** Creates the {@link OwnSessions} of a store. */
export function mappedSessions({
  db,
  locks: { sql: names, columns = NO_COLUMNS, ids },
  revocations,
}: MappedSessions): OwnSessions {
  const [session, user] = [sql.raw(names.session.table), sql.raw(names.user.table)]
  const id = sql.raw(names.session.id)
  // Drivers of SQLite round integers over 2^53, or reject them.
  const idText = sql.raw(`cast(${names.session.id} as text) as "id"`)
  const isOf = (userId: string) => sql`${sql.raw(names.session.userId)} = ${typed('user', userId)}`
  const lock = sql.raw(names.engine === 'postgres' ? ' for no key update' : '')

  /** Some drivers send every value as text. */
  function typed(table: 'session' | 'user', value: string) {
    return ids ? sql`${value}::${sql.raw(ids[table])}` : sql`${value}`
  }

  function isPossible(table: 'session' | 'user', value: string): boolean {
    return isIdOf(ids?.[table] ?? 'text', value)
  }

  return {
    async listSessions(userId) {
      if (!isPossible('user', userId)) return []
      const list = sql.raw(`${names.session.columns}${names.session.added}`)
      const { rows } =
        await sql<Row>`select ${idText}, ${list} from ${session} s where s.${isOf(userId)}`.execute(db)
      const now = new Date()
      return rows
        .map((row) => {
          const key = { sessionId: String(row.id), userId }
          const {
            user: _,
            ban: __,
            ...own
          } = toSession(key, { user: NO_USER, session: row }, addedLists(columns))
          return own
        })
        .filter(({ expiresAt }) => expiresAt > now)
        .sort((a, b) => b.lastAuthenticatedAt.localeCompare(a.lastAuthenticatedAt))
    },
    async revokeSessions(userId, { sessionId, exceptId } = {}) {
      const given = [sessionId, exceptId].filter((value) => value !== undefined)
      if (!isPossible('user', userId) || !given.every((value) => isPossible('session', value))) return 0
      const only = sessionId === undefined ? sql`` : sql` and ${id} = ${typed('session', sessionId)}`
      const except = exceptId === undefined ? sql`` : sql` and ${id} <> ${typed('session', exceptId)}`
      const ended = await db.transaction().execute(async (trx) => {
        // Every change locks the user first, so no two wait for each other.
        await sql`select 1 from ${user} where ${sql.raw(names.user.id)} = ${typed('user', userId)}${lock}`.execute(
          trx,
        )
        const statement = sql<Row>`delete from ${session} where ${isOf(userId)}${only}${except} returning ${idText}`
        return (await statement.execute(trx)).rows
      })
      for (const row of ended) revocations.publish({ sessionId: String(row.id), userId })
      return ended.length
    },
  }
}

/** The list doesn't read the user. */
const NO_USER: Row = Object.fromEntries(USER_COLUMNS.map((name) => [name, null]))
