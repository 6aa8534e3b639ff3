import * as z from 'zod'
import type { authedAction } from '../authed-action.ts'
import { internal } from '../internal/references.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

const day = z.iso.date('Enter a date such as 2026-11-23').transform((text) => Date.parse(text))

const input = z.object({
  /** The name of an event, such as `user.banned`. */
  type: z.string().trim().max(64).exactOptional(),
  /** The email or the id of the user in the record. */
  user: z.string().trim().max(320).exactOptional(),
  /** The first and the last day, in UTC. */
  from: day.exactOptional(),
  to: day.exactOptional(),
  cursor: z.string().exactOptional(),
  limit: z.number().int().min(1).max(100).default(25),
})

/**
 * A page of the audit trail, newest first, with the emails of the users in it. The admin's session must be
 * fresh.
 */
export const listAudit = (adminAction: typeof authedAction) =>
  adminAction.input(input).query(async ({ ctx, input: { user, from, to, ...page } }) => {
    const userId = user?.includes('@') ? await ctx.runQuery(internal.user.findId, { email: user }) : user
    if (userId === null) return { records: [], nextCursor: null }
    const { records, nextCursor } = await ctx.auth.api.listAudit({
      ...page,
      ...(userId !== undefined && { userId }),
      ...(from !== undefined && { since: new Date(from).toISOString() }),
      ...(to !== undefined && { until: new Date(to + DAY_MS).toISOString() }),
    })
    const ids = records.flatMap(({ userId, actorId }) => [userId, actorId]).filter((id) => id !== null)
    const emails = new Map(await ctx.runQuery(internal.user.emails, { ids: [...new Set(ids)] }))
    // Null if the user has been deleted: their records stay.
    const emailOf = (id: string | null) => (id === null ? null : (emails.get(id) ?? null))
    return {
      nextCursor,
      records: records.map((record) => ({
        ...record,
        email: emailOf(record.userId),
        actorEmail: emailOf(record.actorId),
      })),
    }
  })
