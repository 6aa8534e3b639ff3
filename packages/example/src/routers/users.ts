import { TRPCError } from '@trpc/server'
import * as z from 'zod'
import { adminProcedure } from '../procedures.ts'

/** The ban of a user, or null if it has expired or doesn't exist. */
export interface Ban {
  readonly reason: string | null
  /** ISO 8601; null if the ban is permanent. */
  readonly until: string | null
}

interface BanColumns {
  readonly banned: unknown
  readonly banReason: string | null
  readonly banExpires: Date | string | null
}

/** Returns the ban in a user's row. An expired ban stays in the row but isn't valid. */
export function banOf({ banned, banReason, banExpires }: BanColumns): Ban | null {
  const until = banExpires === null ? null : new Date(banExpires)
  const isBanned = Boolean(banned) && (until === null || until > new Date())
  return isBanned ? { reason: banReason, until: until?.toISOString() ?? null } : null
}

/** One user, for the page of an admin. */
export const user = adminProcedure
  .input(z.object({ userId: z.string() }))
  .query(async ({ ctx, input: { userId } }) => {
    const row = await ctx.db
      .selectFrom('user')
      .select(['id', 'name', 'email', 'emailVerified', 'role', 'locale', 'createdAt'])
      .select(['banned', 'banReason', 'banExpires'])
      .where('id', '=', userId)
      .executeTakeFirst()
    if (row === undefined) throw new TRPCError({ code: 'NOT_FOUND', message: 'User not found' })
    const { id, name, email, emailVerified, role, locale, createdAt } = row
    return {
      ...{ id, name, email, role, locale, ban: banOf(row) },
      emailVerified: Boolean(emailVerified),
      createdAt: new Date(createdAt).toISOString(),
    }
  })
