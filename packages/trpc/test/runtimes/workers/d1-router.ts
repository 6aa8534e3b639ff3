import {
  authErrorData,
  type DatabaseContext,
  requireRole,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'

const t = initTRPC.context<DatabaseContext>().create({
  errorFormatter: (o) => ({ ...o.shape, data: { ...o.shape.data, auth: authErrorData(o) } }),
})
const protectedProcedure = t.procedure.use(sessionMiddleware)

export const appRouter = t.router({
  me: protectedProcedure.query(({ ctx }) => ctx.user),
  users: protectedProcedure.use(requireRole('admin')).query(({ ctx }) => [ctx.user]),
  rotateKey: t.procedure
    .use(sensitiveSessionMiddleware)
    .mutation(({ ctx }) => ({ userId: ctx.user.id, key: crypto.randomUUID() })),
  ticks: protectedProcedure.subscription(async function* () {
    for (let tick = 1; ; tick++) {
      yield tick
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }),
})
