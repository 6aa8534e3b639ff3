import { authErrorData, endpointErrorData, rateLimit, requireRole } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type { Context } from './context.ts'
import { sensitiveSessionMiddleware, sessionMiddleware } from './session.ts'

export const t = initTRPC.context<Context>().create({
  errorFormatter: (o) => ({
    ...o.shape,
    data: { ...o.shape.data, auth: authErrorData(o), endpoint: endpointErrorData(o) },
  }),
})
export const publicProcedure = t.procedure
export const protectedProcedure = t.procedure.use(sessionMiddleware)
export const adminProcedure = protectedProcedure.use(requireRole('admin'))
export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
export const limitedProcedure = protectedProcedure.use(rateLimit({ points: 100, duration: 60 }))
