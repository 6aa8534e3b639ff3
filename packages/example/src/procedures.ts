import { requireRole } from '@sallyport/trpc'
import { initTRPC, TRPCError } from '@trpc/server'
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

/** For anyone. */
export const publicProcedure = t.procedure
/** For anyone. Provides the session of a signed-in user. */
export const optionalProcedure = t.procedure.use(optionalSessionMiddleware)
/** Runs both steps. Provides `ctx.session`, `ctx.user`, `ctx.identity`. */
export const protectedProcedure = t.procedure.use(sessionMiddleware)
/** Also requires an account. The users of `anonymous()` have none yet, but may call the auth endpoints. */
export const accountProcedure = protectedProcedure.use(({ ctx: { user }, next }) => {
  if (user.isAnonymous) throw new TRPCError({ code: 'FORBIDDEN', message: 'Create an account first' })
  return next()
})
/** Runs both steps and checks the role in the user's row. */
export const adminProcedure = protectedProcedure.use(requireRole('admin'))
/** Runs both steps with a fresh read, for writes that must not happen after a revocation. */
export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
/**
 * Also requires a sign-in or a confirmation within the last minute. Admins, and users who have used a code in
 * this session, must confirm with a second factor.
 */
export const freshProcedure = t.procedure.use(
  createSensitiveSessionMiddleware({
    maxAge: 60,
    factor: ({ user, amr }) => (user.role === 'admin' || amr?.includes('"otp"') ? 'any-second' : null),
  }),
)
