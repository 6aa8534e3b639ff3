import * as z from 'zod'
import { authedAction } from './authed-action.ts'
import { internal } from './internal.ts'
import { adminProcedure, limitedProcedure, protectedProcedure, sensitiveProcedure, t } from './procedures.ts'

export const appRouter = t.router({
  me: protectedProcedure.query(({ ctx }) => ({ userId: ctx.user.id, locale: ctx.user.locale })),
  addNote: limitedProcedure.input(z.object({ text: z.string() })).mutation(async ({ ctx, input }) => {
    await ctx.db
      .insertInto('note')
      .values({ ...input, userId: ctx.session.userId })
      .execute()
  }),
  notes: protectedProcedure.query(({ ctx }) =>
    ctx.db.selectFrom('note').select('text').where('userId', '=', ctx.session.userId).execute(),
  ),
  removeNotes: sensitiveProcedure.mutation(({ ctx }) =>
    ctx.transaction(async (transaction) => {
      await transaction.deleteFrom('note').where('userId', '=', ctx.session.userId).execute()
    }),
  ),
  ofAdmins: adminProcedure.query(() => 'for admins'),
  report: authedAction.query(async ({ ctx }) => {
    const { count } = await ctx.runQuery(internal.countNotes)
    const { user } = await ctx.auth.api.getSession()
    return { count, name: user.name }
  }),
  ticks: protectedProcedure.subscription(async function* ({ ctx }) {
    for (let tick = 0; !ctx.auth.signal.aborted; tick++) {
      yield tick
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }),
})
export type AppRouter = typeof appRouter
