import { authErrorData, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
import type { Context } from './context.ts'

const t = initTRPC.context<Context>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
export const router = t.router
export const publicProcedure = t.procedure
/** Remove it after the last router has moved. */
export const oldProcedure = t.procedure.use(({ ctx, next }) => {
  if (ctx.oldUser === null) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { user: ctx.oldUser } })
})
export const protectedProcedure = t.procedure.use(sessionMiddleware)
