import { authErrorData, bindSession } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type { guard, httpContext } from './guard.ts'

const { createSensitiveSessionMiddleware, optionalSessionMiddleware, sessionMiddleware, ...guards } =
  bindSession<typeof guard>()
export const { forbidImpersonation, requireOrganizationPermission, requirePermission } = guards

const t = initTRPC.context<ReturnType<typeof httpContext>>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
export const { router } = t
export const publicProcedure = t.procedure.use(optionalSessionMiddleware)
export const protectedProcedure = t.procedure.use(sessionMiddleware)
export const paymentProcedure = t.procedure.use(createSensitiveSessionMiddleware())
