import type { AuthTransaction, RecordEvent } from '../../database/session-database.ts'
import type { AuthorizedContext } from '../../endpoints/endpoint.ts'
import { deleteSessions } from '../../lifecycle/end-session.ts'

/** Ends the caller's other sessions. */
export async function endOthers(
  { identity: { userId, sessionId: exceptId }, config }: AuthorizedContext,
  trx: AuthTransaction,
  record: RecordEvent,
): Promise<void> {
  await deleteSessions(trx, record, { userId, exceptId, cause: 'factor-changed', at: config.now() })
}
