import type { SessionDatabase } from '../../database/session-database.ts'
import { commit } from '../../lifecycle/commit.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { type AnonymousKysely, withOwnTables } from './tables.ts'

const BATCH = 100

interface PruneTimes {
  readonly createdBefore: Date
  readonly now: Date
}

/** Deletes old anonymous users whom no one can sign in as any more, each in its own transaction. */
export async function pruneAnonymousUsers(database: SessionDatabase, times: PruneTimes): Promise<void> {
  const oldest = unreachable(withOwnTables(database.db), times).orderBy('user.createdAt').limit(BATCH)
  for (const { id: userId } of await oldest.execute())
    await commit(database, async (trx, record) => {
      await lockUsers(trx, [userId])
      // They may have been upgraded meanwhile.
      const query = unreachable(withOwnTables(trx), times).where('user.id', '=', userId)
      if ((await query.executeTakeFirst()) === undefined) return
      await deleteSessions(trx, record, { userId, cause: 'user-deleted', at: times.now })
      await trx.deleteFrom('user').where('id', '=', userId).execute()
      record({ type: 'user.deleted', userId, actorId: null, at: times.now })
    })
}

function unreachable(db: AnonymousKysely, { createdBefore, now }: PruneTimes) {
  return db
    .selectFrom('user')
    .select('user.id')
    .where('user.isAnonymous', '=', true)
    .where('user.createdAt', '<=', createdBefore)
    .where(({ not, exists, selectFrom }) => {
      const session = selectFrom('session').select('session.id').whereRef('session.userId', '=', 'user.id')
      return not(exists(session.where('session.expiresAt', '>', now)))
    })
    .where(({ not, exists, selectFrom }) => {
      const account = selectFrom('account').select('account.id').whereRef('account.userId', '=', 'user.id')
      return not(exists(account))
    })
}
