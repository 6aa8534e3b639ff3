import { publicProcedure, router } from './procedures.ts'

export const appRouter = router({
  health: publicProcedure.query(() => ({ ok: true })),
})
export type AppRouter = typeof appRouter
