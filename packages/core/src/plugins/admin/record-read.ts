import type { AuthTransaction, ChangeEvent, RecordEvent } from '../../database/auth-transaction.ts'

/** A page that an admin keeps open reads the same again and again. */
const RECORDED_ONCE_IN_MS = 5 * 60 * 1000

type ReadEvent = Extract<ChangeEvent, { type: `admin.${string}` }>

/** Records what an admin read, unless the last 5 minutes have a record of the same read by the session. */
export async function recordRead(
  trx: AuthTransaction,
  record: RecordEvent,
  { event, sessionId }: { event: ReadEvent; sessionId: string },
): Promise<void> {
  const { type, at, userId, actorId: _actorId, ...detail } = event
  const recorded = await trx
    .selectFrom('audit')
    .select('id')
    .where('actingSessionId', '=', sessionId)
    .where('type', '=', type)
    .where('userId', 'is not distinct from', userId)
    .where('detail', '=', JSON.stringify(detail))
    .where('createdAt', '>', new Date(at.getTime() - RECORDED_ONCE_IN_MS))
    .limit(1)
    .executeTakeFirst()
  if (recorded === undefined) record(event)
}
