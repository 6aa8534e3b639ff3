import { authErrorData, requireRole, sensitiveSessionMiddleware, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type { Context } from './context.ts'

const t = initTRPC.context<Context>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
export const router = t.router
export const publicProcedure = t.procedure
export const protectedProcedure = t.procedure.use(sessionMiddleware)
export const adminProcedure = protectedProcedure.use(requireRole('admin'))
export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
