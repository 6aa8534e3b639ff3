import type { ActingUser } from '@sallyport/trpc/action'
import { initTRPC, TRPCError } from '@trpc/server'
import * as z from 'zod'
import type { db } from '../database.ts'

const t = initTRPC.context<{ db: typeof db } & ActingUser>().create()

/** For calls on behalf of a user. Their session has just been validated again. */
const userProcedure = t.procedure.use(({ ctx: { session }, next }) => {
  if (session === null) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { session } })
})

/** The database work of actions. No public handler serves it. */
export const internalRouter = t.router({
  health: t.procedure.query(() => ({ ok: true })),

  user: {
    /** Returns the id of the user with this email, or null. */
    findId: userProcedure.input(z.object({ email: z.string() })).query(async ({ ctx, input }) => {
      const email = input.email.trim().toLowerCase()
      const row = await ctx.db.selectFrom('user').select('id').where('email', '=', email).executeTakeFirst()
      return row?.id ?? null
    }),

    /** Returns pairs of an id and its email. */
    emails: userProcedure.input(z.object({ ids: z.array(z.string()) })).query(async ({ ctx, input }) => {
      const rows = await ctx.db
        .selectFrom('user')
        .select(['id', 'email'])
        // PostgreSQL rejects an empty list.
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
        // Another process may have saved it first: each process has its own idempotency keys.
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
