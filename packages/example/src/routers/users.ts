import * as z from 'zod'
import { adminProcedure } from '../procedures.ts'

/** All users, or those whose name or email has a text in it. */
export const users = adminProcedure
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
  })
