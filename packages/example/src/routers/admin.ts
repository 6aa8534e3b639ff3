import * as z from 'zod'
import { getAuth } from '../generated/auth.ts'
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

  /** What has happened, the newest first. */
  audit: adminProcedure.query(async ({ ctx }) => {
    const records = await ctx.db
      .selectFrom('audit')
      // The record of a deleted user stays.
      .leftJoin('user', 'user.id', 'audit.userId')
      .leftJoin('user as actor', 'actor.id', 'audit.actorId')
      .select(['audit.id', 'audit.type', 'audit.userId', 'audit.address', 'audit.detail', 'audit.createdAt'])
      .select(['user.email', 'actor.email as actorEmail'])
      .orderBy('audit.createdAt', 'desc')
      .orderBy('audit.id')
      .limit(NEWEST)
      .execute()
    return records.map(({ detail, createdAt, ...record }) => ({
      ...record,
      detail: detailSchema.parse(JSON.parse(detail)),
      createdAt: new Date(createdAt).toISOString(),
    }))
  }),
})

const detailSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
