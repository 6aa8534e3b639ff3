import { requireRole } from '@sallyport/trpc'
import { initTRPC } from '@trpc/server'
import type { Context } from './context.ts'
import { errorFormatter } from './error-formatter.ts'
import {
  createSensitiveSessionMiddleware,
  optionalSessionMiddleware,
  sensitiveSessionMiddleware,
  sessionMiddleware,
} from './session.ts'

const t = initTRPC.context<Context>().create({ errorFormatter })

export const router = t.router

/** Anyone. */
export const publicProcedure = t.procedure
/** Anyone, and the session of those who have one. */
export const optionalProcedure = t.procedure.use(optionalSessionMiddleware)
/** Both steps: `ctx.session`, `ctx.user`, `ctx.identity`. */
export const protectedProcedure = t.procedure.use(sessionMiddleware)
/** Both steps, and the role in the user's row. */
export const adminProcedure = protectedProcedure.use(requireRole('admin'))
/** Both steps with a fresh read, for writes that must not happen after a revocation. */
export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
/** The same, for who has proved who they are within a minute: others are asked for their password. */
export const freshProcedure = t.procedure.use(createSensitiveSessionMiddleware({ maxAge: 60 }))
