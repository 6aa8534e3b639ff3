import type { ActingUser } from '@sallyport/trpc/runtime'
import { initTRPC, TRPCError } from '@trpc/server'
import * as z from 'zod'
import type { db } from '../database.ts'

const t = initTRPC.context<{ db: typeof db } & ActingUser>().create()

/** On behalf of a user, whose session has just been read again. */
const userProcedure = t.procedure.use(({ ctx: { session }, next }) => {
  if (session === null) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { session } })
})

/** What actions do in the database. No public door serves it. */
export const internalRouter = t.router({
  health: t.procedure.query(() => ({ ok: true })),

  report: {
    list: userProcedure.query(({ ctx }) =>
      ctx.db
        .selectFrom('report')
        .select(['id', 'title', 'text', 'createdAt'])
        .where('userId', '=', ctx.session.userId)
        .orderBy('createdAt')
        .execute(),
    ),

    save: userProcedure
      .input(z.object({ id: z.uuid(), title: z.string(), text: z.string() }))
      .mutation(async ({ ctx, input }) => {
        const report = { ...input, createdAt: new Date().toISOString() }
        await ctx.db
          .insertInto('report')
          .values({ ...report, userId: ctx.session.userId })
          .execute()
        return report
      }),
  },
})
