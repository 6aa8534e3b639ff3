import { authErrorMiddleware, requireRole } from '@sallyport/trpc'
import * as z from 'zod'
import { authedAction } from '../authed-action.ts'
import { getAuth } from '../get-auth.ts'
import { adminProcedure, router } from '../procedures.ts'
import { listAudit } from './audit.ts'
import { banOf, user } from './users.ts'

/** For queries that call an auth endpoint. Queries never import `getAuth`. */
const adminAction = authedAction.use(requireRole('admin'))

export const adminRouter = router({
  user,
  audit: listAudit(adminAction),

  /** A page of users, newest first. `search` is part of a name or an email. */
  users: adminAction
    .input(
      z.object({
        search: z.string().trim().max(320).exactOptional(),
        cursor: z.string().exactOptional(),
        limit: z.number().int().min(1).max(100).default(25),
      }),
    )
    .query(async ({ ctx, input }) => {
      const { users, nextCursor } = await ctx.auth.api.listUsers(input)
      const rows = users.map(({ id, name, email, role, createdAt, ...columns }) => ({
        ...{ id, name, email, role, createdAt },
        ban: banOf(columns),
      }))
      return { users: rows, nextCursor }
    }),

  sessions: adminAction
    .input(z.object({ userId: z.string() }))
    .query(({ ctx, input }) => ctx.auth.api.listUserSessions(input)),

  factors: adminAction
    .input(z.object({ userId: z.string() }))
    .query(({ ctx, input }) => ctx.auth.api.listUserFactors(input)),

  revokeSession: adminProcedure
    .use(authErrorMiddleware)
    .input(z.object({ sessionId: z.string() }))
    .mutation(({ ctx, input }) => getAuth(ctx).api.revokeUserSession(input)),
})
