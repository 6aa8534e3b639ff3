import { authErrorData, requireRole, sensitiveSessionMiddleware, sessionMiddleware } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type { Context } from './context.ts'

const t = initTRPC.context<Context>().create({
  errorFormatter: ({ shape, error, path }) => ({
    ...shape,
    // tRPC would send the text of an unexpected error to the client.
    message: error.code === 'INTERNAL_SERVER_ERROR' ? 'Something went wrong' : shape.message,
    data: { ...shape.data, auth: authErrorData({ error, path }) },
  }),
})

export const router = t.router

/** Anyone. */
export const publicProcedure = t.procedure
/** Both doors: `ctx.session`, `ctx.identity`. */
export const protectedProcedure = t.procedure.use(sessionMiddleware)
/** Both doors, and the role in the user's row. */
export const adminProcedure = protectedProcedure.use(requireRole('admin'))
/** Both doors with a read of its own, for what must not happen after a revocation. */
export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
