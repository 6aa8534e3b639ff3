import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { commit } from '../../lifecycle/commit.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'
import { lockUsers } from '../../lifecycle/locked-sessions.ts'
import { isAuthError } from '../../protocol/errors.ts'
import { readDate } from '../../session/read-date.ts'
import { type AnonymousKysely, withOwnTables } from './tables.ts'

const BATCH = 100

/** Bounds the transactions of a run that fail, because the next run tries them again. */
const MAX_FAILURES = 1_000

interface PruneTimes {
  readonly createdBefore: Date
  readonly now: Date
}

type Pruning = PruneTimes & Pick<EndpointContext, 'database' | 'later'>

/**
 * Deletes old anonymous users without a session or a way to sign in, each in its own transaction. A user
 * whose deletion fails stays, such as the only owner of an organization that has other members.
 */
export async function pruneAnonymousUsers(pruning: Pruning): Promise<void> {
  const oldest = unreachable(withOwnTables(pruning.database.db), pruning)
    .orderBy('user.createdAt')
    .orderBy('user.id')
    .limit(BATCH)
  let pruned = 0
  let failures = 0
  while (pruned < BATCH && failures < MAX_FAILURES) {
    const users = await oldest.offset(failures).execute()
    if (users.length === 0) return
    for (const { id } of users)
      if (await isPruned(id, pruning)) pruned++
      else failures++
  }
}

/** Returns false if the user has a session, or a plugin or a table of the app rejects the deletion. */
async function isPruned(userId: string, pruning: Pruning): Promise<boolean> {
  try {
    return await pruneUser(userId, pruning)
  } catch (error) {
    // The database is unavailable, so every deletion would fail.
    if (isAuthError(error)) throw error
    pruning.later(() => Promise.reject(error))
    return false
  }
}

function pruneUser(userId: string, { database, ...times }: Pruning): Promise<boolean> {
  return commit(database, async (trx, record) => {
    await lockUsers(trx, [userId])
    // They may have been upgraded meanwhile.
    const query = unreachable(withOwnTables(trx), times).where('user.id', '=', userId)
    if ((await query.executeTakeFirst()) === undefined) return true
    // SQLite compares text, and a date that was written by hand may come before the present of the same day.
    const sessions = await trx
      .selectFrom('session')
      .select('expiresAt')
      .where('userId', '=', userId)
      .execute()
    if (sessions.some(({ expiresAt }) => readDate(expiresAt) > times.now)) return false
    await deleteSessions(trx, record, { userId, cause: 'user-deleted', at: times.now })
    await trx.deleteFrom('user').where('id', '=', userId).execute()
    record({ type: 'user.deleted', userId, actorId: null, at: times.now })
    return true
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
