import { authErrorData, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type { Context } from './context.ts'

const t = initTRPC.context<Context>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)

export const appRouter = t.router({
  me: protectedProcedure.query(({ ctx }) => ({ id: ctx.user.id })),
  notes: t.router({
    list: protectedProcedure.query(() => [{ id: 'n1', text: 'Buy milk' }]),
  }),
})

export type AppRouter = typeof appRouter
