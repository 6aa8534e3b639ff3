import type { AuditRecordResponse } from '@sallyport/core'
import { authErrorMiddleware, requireRole } from '@sallyport/trpc'
import * as z from 'zod'
import { authedAction } from '../authed-action.ts'
import { getAuth } from '../get-auth.ts'
import { internal } from '../internal/references.ts'
import { adminProcedure, router } from '../procedures.ts'
import { users } from './users.ts'

const NEWEST = 50

/** For what only auth endpoints know. Queries never import `getAuth`. */
const adminAction = authedAction.use(requireRole('admin'))

export const adminRouter = router({
  users,

  sessions: adminAction
    .input(z.object({ userId: z.string() }))
    .query(({ ctx, input }) => ctx.auth.api.listUserSessions(input)),

  revokeSession: adminProcedure
    .use(authErrorMiddleware)
    .input(z.object({ sessionId: z.string() }))
    .mutation(({ ctx, input }) => getAuth(ctx).api.revokeUserSession(input)),

  /** The newest records of the audit trail, with the emails of the users they name. Needs a fresh admin. */
  audit: adminAction.query(async ({ ctx }) => {
    const page = await ctx.auth.api.listAudit({ limit: NEWEST })
    // The page would list its own reading of the trail.
    const isOwnRead = ({ type, actingSessionId }: AuditRecordResponse) =>
      type === 'admin.audit-read' && actingSessionId === ctx.session.id
    const records = page.records.filter((record) => !isOwnRead(record))
    const ids = records.flatMap(({ userId, actorId }) => [userId, actorId]).filter((id) => id !== null)
    // The records of a deleted user stay.
    const emails = new Map(await ctx.runQuery(internal.user.emails, { ids: [...new Set(ids)] }))
    const emailOf = (id: string | null) => (id === null ? null : (emails.get(id) ?? null))
    return records.map((record) => ({
      ...record,
      email: emailOf(record.userId),
      actorEmail: emailOf(record.actorId),
    }))
  }),
})
