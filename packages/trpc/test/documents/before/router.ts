import { initTRPC } from '@trpc/server'
import type { Context } from './context.ts'

const t = initTRPC.context<Context>().create()
export const appRouter = t.router({
  health: t.procedure.query(() => ({ ok: true })),
})
export type AppRouter = typeof appRouter
