import type { Selectable } from 'kysely'
import * as z from 'zod/mini'
import type { AuditTable } from '../../database/schema/kysely-tables.ts'
import type { AuthTransaction, ChangeEvent, RecordEvent } from '../../database/session-database.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { id } from '../../endpoints/plain-schemas.ts'
import { type AuditRecordResponse, ENDPOINTS } from '../../protocol.ts'
import { toIso } from '../../session/session-row.ts'
import { type PageInput, type PageOutput, pageFields, readPage } from '../pagination.ts'
import type { FreshAdmin } from './settings.ts'

/** All filters must match. */
export interface ListAuditInput extends PageInput {
  /** The user whom the event is about. */
  userId?: string
  /** The session that the event is about, or that caused it. */
  sessionId?: string
  actorId?: string
  /** The name of an event, such as `user.banned`. */
  type?: string
  /** Records of this moment or later, ISO 8601. */
  since?: string
  /** Records before this moment, ISO 8601. */
  until?: string
}

/** A page of the audit trail, the newest records first. */
export interface ListAuditOutput extends PageOutput {
  records: AuditRecordResponse[]
}

const moment = z.iso.datetime({ offset: true }).check(z.maxLength(40))

const auditRecord: z.ZodMiniType<AuditRecordResponse> = z.object({
  id: z.string(),
  type: z.string(),
  userId: z.nullable(z.string()),
  sessionId: z.nullable(z.string()),
  actorId: z.nullable(z.string()),
  actingSessionId: z.nullable(z.string()),
  address: z.nullable(z.string()),
  userAgent: z.nullable(z.string()),
  detail: z.record(z.string(), z.unknown()),
  createdAt: z.string(),
})

/** Lists the audit trail. The read itself is recorded in the same transaction. */
export function listAudit(fresh: FreshAdmin): Endpoint<ListAuditInput, ListAuditOutput, false> {
  return defineEndpoint({
    ...ENDPOINTS.listAudit,
    caller: fresh.caller,
    freshForSeconds: fresh.freshForSeconds,
    factor: fresh.factor,
    input: z.strictObject({
      userId: z.exactOptional(id),
      sessionId: z.exactOptional(id),
      actorId: z.exactOptional(id),
      type: z.exactOptional(id),
      since: z.exactOptional(moment),
      until: z.exactOptional(moment),
      ...pageFields,
    }),
    output: z.object({ records: z.array(auditRecord), nextCursor: z.nullable(z.string()) }),
    async run(input, { identity, config, change }) {
      const { limit = 50, cursor = '', ...filter } = input
      const read = { userId: filter.userId ?? null, actorId: identity.userId, at: config.now() }
      const event = { type: 'admin.audit-read', ...read, filter } as const
      const { page, nextCursor } = await change(async (trx, record) => {
        // Read first: otherwise the first page would begin with the record of this read.
        const order = { table: 'sallyport.audit', order: 'desc', limit, cursor } as const
        const found = await readPage(selectRecords(trx, filter), order)
        await recordRead(trx, record, { event, sessionId: identity.sessionId })
        return found
      })
      return { body: { records: page.map(toResponse), nextCursor } }
    },
  })
}

function selectRecords(
  trx: AuthTransaction,
  { sessionId, since, until, ...equal }: Omit<ListAuditInput, keyof PageInput>,
) {
  let rows = trx
    .selectFrom('sallyport.audit')
    .selectAll()
    .where(({ and }) => and(equal))
  if (sessionId !== undefined)
    rows = rows.where(({ eb, or }) =>
      or([eb('sessionId', '=', sessionId), eb('actingSessionId', '=', sessionId)]),
    )
  if (since !== undefined) rows = rows.where('createdAt', '>=', new Date(since))
  if (until !== undefined) rows = rows.where('createdAt', '<', new Date(until))
  return rows
}

function toResponse({ detail, createdAt, ...row }: Selectable<AuditTable>): AuditRecordResponse {
  return { ...row, detail: JSON.parse(detail), createdAt: toIso(createdAt) }
}

/** An open admin page repeats the same read. */
const READ_INTERVAL_MS = 5 * 60 * 1000

type ReadEvent = Extract<ChangeEvent, { type: `admin.${string}` }>

/** Records what an admin read, unless the session's same read was recorded in the last 5 minutes. */
export async function recordRead(
  trx: AuthTransaction,
  record: RecordEvent,
  { event, sessionId }: { event: ReadEvent; sessionId: string },
): Promise<void> {
  const { type, at, userId, actorId: _actorId, ...detail } = event
  const recorded = await trx
    .selectFrom('sallyport.audit')
    .select('id')
    .where('actingSessionId', '=', sessionId)
    .where('type', '=', type)
    .where('userId', 'is not distinct from', userId)
    .where('detail', '=', JSON.stringify(detail))
    .where('createdAt', '>', new Date(at.getTime() - READ_INTERVAL_MS))
    .limit(1)
    .executeTakeFirst()
  if (recorded === undefined) record(event)
}
