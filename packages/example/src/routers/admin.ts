import type { AuditRecordResponse } from '@sallyport/core/protocol'
import { refusalMiddleware } from '@sallyport/trpc'
import * as z from 'zod'
import { getAuth } from '../get-auth.ts'
import { adminProcedure, router } from '../procedures.ts'

const NEWEST = 50

export const adminRouter = router({
  users: adminProcedure
    .input(z.object({ search: z.string().trim().max(100) }).optional())
    .query(async ({ ctx, input }) => {
      const pattern = `%${input?.search.toLowerCase() ?? ''}%`
      const users = await ctx.db
        .selectFrom('user')
        .select(['id', 'name', 'email', 'role', 'banned', 'banReason', 'banExpires'])
        .where(({ eb, fn, or }) =>
          or([eb(fn('lower', ['email']), 'like', pattern), eb(fn('lower', ['name']), 'like', pattern)]),
        )
        .orderBy('email')
        .limit(100)
        .execute()
      return users.map(({ banned, banReason, banExpires, ...user }) => {
        const expires = banExpires === null ? null : new Date(banExpires)
        // A ban whose time has passed counts no more, and nobody has lifted it.
        const isBanned = Boolean(banned) && (expires === null || expires > new Date())
        return {
          ...user,
          ban: isBanned ? { reason: banReason, until: expires?.toISOString() ?? null } : null,
        }
      })
    }),

  /** The sessions of a user, as the auth endpoint tells them. */
  sessions: adminProcedure
    .input(z.object({ userId: z.string() }))
    .query(({ ctx, input }) => getAuth(ctx).api.listUserSessions(input)),

  /** The newest records of the audit trail, with the emails of the users they name. Needs a fresh admin. */
  audit: adminProcedure.use(refusalMiddleware).query(async ({ ctx }) => {
    const page = await getAuth(ctx).api.listAudit({ limit: NEWEST })
    // The page would list its own reading of the trail.
    const isOwnRead = ({ type, actingSessionId }: AuditRecordResponse) =>
      type === 'admin.audit-read' && actingSessionId === ctx.session.id
    const records = page.records.filter((record) => !isOwnRead(record))
    const ids = records.flatMap(({ userId, actorId }) => [userId, actorId]).filter((id) => id !== null)
    const users = await ctx.db
      .selectFrom('user')
      .select(['id', 'email'])
      // PostgreSQL takes no empty list.
      .where('id', 'in', ['', ...new Set(ids)])
      .execute()
    // The records of a deleted user stay.
    const emails = new Map(users.map(({ id, email }) => [id, email]))
    const emailOf = (id: string | null) => (id === null ? null : (emails.get(id) ?? null))
    return records.map((record) => ({
      ...record,
      email: emailOf(record.userId),
      actorEmail: emailOf(record.actorId),
    }))
  }),
})
