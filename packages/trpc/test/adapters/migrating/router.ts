import { assertGuarded } from '@sallyport/trpc'
import { oldProcedure, protectedProcedure, publicProcedure, router } from './procedures.ts'

export const appRouter = router({
  health: publicProcedure.query(() => ({ ok: true })),
  notes: router({
    list: protectedProcedure.query(({ ctx }) => [`a note of ${ctx.user.name}`]),
    add: protectedProcedure.mutation(() => 'added'),
  }),
  reports: router({
    list: oldProcedure.query(({ ctx }) => [`a report of ${ctx.user.name}`]),
  }),
})
export type AppRouter = typeof appRouter

/** Procedures that still use the old check. */
const NOT_MOVED = ['reports.list']
assertGuarded(appRouter, { public: ['health', ...NOT_MOVED] })
