import { TRPCError } from '@trpc/server'
import * as z from 'zod'
import { publish } from '../live.ts'
import { protectedProcedure, router } from '../procedures.ts'

export const notesRouter = router({
  list: protectedProcedure.query(({ ctx }) =>
    ctx.db
      .selectFrom('note')
      .select(['id', 'text', 'createdAt'])
      .where('userId', '=', ctx.session.userId)
      .orderBy('createdAt')
      .execute(),
  ),

  add: protectedProcedure
    .input(
      z.object({
        text: z.string().trim().min(1, 'Enter a note').max(2_000, 'Enter at most 2,000 characters'),
      }),
    )
    .mutation(async ({ ctx, input }) => {
      const note = { id: crypto.randomUUID(), text: input.text, createdAt: new Date().toISOString() }
      await ctx.db
        .insertInto('note')
        .values({ ...note, userId: ctx.session.userId })
        .execute()
      publish(ctx.session.userId, 'notes')
      return note
    }),

  remove: protectedProcedure.input(z.object({ id: z.uuid() })).mutation(async ({ ctx, input }) => {
    const { numDeletedRows } = await ctx.db
      .deleteFrom('note')
      .where('id', '=', input.id)
      .where('userId', '=', ctx.session.userId)
      .executeTakeFirst()
    if (numDeletedRows === 0n) throw new TRPCError({ code: 'NOT_FOUND', message: 'Note not found' })
    publish(ctx.session.userId, 'notes')
    return { id: input.id }
  }),
})
