import { AuthError, withAuthStore } from '@sallyport/core'
import type { SqliteAuthDatabase } from '@sallyport/core/sqlite'
import type { KyselyPlugin } from 'kysely'

/** A database that a test can make unreachable. */
export interface Outage {
  readonly database: SqliteAuthDatabase<unknown>
  /** While true, every read and write is rejected as if the database were unreachable. */
  isDown: boolean
}

/** Wraps a database so a test can make it unreachable, including on open connections. */
export function withOutage(opened: SqliteAuthDatabase<unknown>): Outage {
  const { sessions, limits } = opened
  const reject: KyselyPlugin = {
    transformQuery({ node }) {
      if (outage.isDown) throw unreachable()
      return node
    },
    transformResult: async ({ result }) => result,
  }
  const unlessDown = async <Answer>(ask: () => Promise<Answer> | Answer): Promise<Answer> => {
    if (outage.isDown) throw unreachable()
    return ask()
  }
  const reached = {
    ...opened,
    sessions: {
      findSession: (key) => unlessDown(() => sessions.findSession(key)),
      findToken: (sessionId) => unlessDown(() => sessions.findToken(sessionId)),
    },
    limits: { consume: (key, limit) => unlessDown(() => limits.consume(key, limit)) },
    db: withAuthStore(opened.db.withPlugin(reject), opened),
  } satisfies SqliteAuthDatabase<unknown>
  withAuthStore(reached.db, { ...reached, database: reached })
  const outage: Outage = { database: reached, isDown: false }
  return outage
}

function unreachable(): AuthError {
  return new AuthError('SESSIONS_UNAVAILABLE')
}
