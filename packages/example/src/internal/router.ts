import type { ActingUser } from '@sallyport/trpc/action'
import { initTRPC, TRPCError } from '@trpc/server'
import * as z from 'zod'
import type { db } from '../database.ts'

const t = initTRPC.context<{ db: typeof db } & ActingUser>().create()

/** On behalf of a user, whose session has just been read again. */
const userProcedure = t.procedure.use(({ ctx: { session }, next }) => {
  if (session === null) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { session } })
})

/** What actions do in the database. No public handler serves it. */
export const internalRouter = t.router({
  health: t.procedure.query(() => ({ ok: true })),

  user: {
    /** Pairs of an id and its email. */
    emails: userProcedure.input(z.object({ ids: z.array(z.string()) })).query(async ({ ctx, input }) => {
      const rows = await ctx.db
        .selectFrom('user')
        .select(['id', 'email'])
        // PostgreSQL takes no empty list.
        .where('id', 'in', ['', ...input.ids])
        .execute()
      return rows.map(({ id, email }): [string, string] => [id, email])
    }),
  },

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
        const { userId } = ctx.session
        const createdAt = new Date().toISOString()
        await ctx.db
          .insertInto('report')
          .values({ ...input, userId, createdAt })
          .onConflict((conflict) => conflict.columns(['userId', 'id']).doNothing())
          .execute()
        // The other process may have saved it first: each has its own idempotency keys.
        const report = await ctx.db
          .selectFrom('report')
          .select(['id', 'title', 'text', 'createdAt'])
          .where('userId', '=', userId)
          .where('id', '=', input.id)
          .where('title', '=', input.title)
          .executeTakeFirst()
        if (report === undefined)
          throw new TRPCError({ code: 'CONFLICT', message: 'Another report has this id' })
        return report
      }),
  },
})
