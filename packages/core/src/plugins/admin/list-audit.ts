import type { Selectable } from 'kysely'
import * as z from 'zod'
import type { AuthTransaction } from '../../database/auth-transaction.ts'
import { type AuditTable, toDate } from '../../database/schema.ts'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { id } from '../../endpoints/plain-schemas.ts'
import { type AuditRecordResponse, ENDPOINTS } from '../../protocol.ts'
import { isAfter, type PageInput, pageFields, toPage } from '../pagination.ts'
import { recordRead } from './record-read.ts'
import type { FreshAdmin } from './settings.ts'

/** What `GET /admin/list-audit` takes. All filters must match. */
export interface ListAuditInput extends PageInput {
  /** What happened to this user. */
  userId?: string
  /** What happened to this session, and what was done with it. */
  sessionId?: string
  /** What this admin did. */
  actorId?: string
  /** The name of an event, such as `user.banned`. */
  type?: string
  /** Records of this moment or later, ISO 8601. */
  since?: string
  /** Records before this moment, ISO 8601. */
  until?: string
}

/** A page of the audit trail, the newest records first. */
export interface ListAuditOutput {
  records: AuditRecordResponse[]
  /** Null on the last page. */
  nextCursor: string | null
}

const moment = z.iso.datetime({ offset: true }).max(40)

const auditRecord: z.ZodType<AuditRecordResponse> = z.object({
  id: z.string(),
  type: z.string(),
  userId: z.string().nullable(),
  sessionId: z.string().nullable(),
  actorId: z.string().nullable(),
  actingSessionId: z.string().nullable(),
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
  createdAt: z.string(),
})

/** The audit trail, page by page. The read itself is recorded in the same transaction. */
export function listAudit(fresh: FreshAdmin): Endpoint<ListAuditInput, ListAuditOutput, false> {
  return defineEndpoint({
    ...ENDPOINTS.listAudit,
    caller: fresh.caller,
    freshForSeconds: fresh.freshForSeconds,
    input: z.strictObject({
      userId: id.exactOptional(),
      sessionId: id.exactOptional(),
      actorId: id.exactOptional(),
      type: id.exactOptional(),
      since: moment.exactOptional(),
      until: moment.exactOptional(),
      ...pageFields,
    }),
    output: z.object({ records: z.array(auditRecord), nextCursor: z.string().nullable() }),
    async run({ limit = 50, cursor, ...filter }, { identity, config, change }) {
      const read = { userId: filter.userId ?? null, actorId: identity.userId, at: config.now() }
      const event = { type: 'admin.audit-read', ...read, filter } as const
      const rows = await change(async (trx, record) => {
        // Before the read is recorded: the first page would begin with it.
        const found = await findRecords(trx, { ...filter, limit: limit + 1, cursor })
        await recordRead(trx, record, { event, sessionId: identity.sessionId })
        return found
      })
      const { page, nextCursor } = toPage(rows, limit)
      return { body: { records: page.map(toResponse), nextCursor } }
    },
  })
}

interface RecordQuery extends Omit<ListAuditInput, 'cursor'> {
  readonly limit: number
  readonly cursor: string | undefined
}

function findRecords(trx: AuthTransaction, query: RecordQuery): Promise<Selectable<AuditTable>[]> {
  const { userId, sessionId, actorId, type, since, until, limit, cursor } = query
  let rows = trx
    .selectFrom('audit')
    .selectAll()
    .where(isAfter({ table: 'audit', order: 'desc', cursor }))
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (userId !== undefined) rows = rows.where('userId', '=', userId)
  if (sessionId !== undefined)
    rows = rows.where((where) =>
      where.or([where('sessionId', '=', sessionId), where('actingSessionId', '=', sessionId)]),
    )
  if (actorId !== undefined) rows = rows.where('actorId', '=', actorId)
  if (type !== undefined) rows = rows.where('type', '=', type)
  if (since !== undefined) rows = rows.where('createdAt', '>=', new Date(since))
  if (until !== undefined) rows = rows.where('createdAt', '<', new Date(until))
  return rows.execute()
}

function toResponse({ detail, createdAt, ...row }: Selectable<AuditTable>): AuditRecordResponse {
  return { ...row, detail: JSON.parse(detail), createdAt: toDate(createdAt).toISOString() }
}
