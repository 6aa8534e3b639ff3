import type { DatabaseContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { type Middleware, runAdmitted, type SessionContext } from './guard.ts'

/**
 * Lets a call in when both doors do, and adds `ctx.session` and `ctx.identity`. A subscription or streamed answer ends with the
 * reason as soon as the session does.
 *
 * @example export const protectedProcedure = t.procedure.use(sessionMiddleware)
 */
export const sessionMiddleware: Middleware<DatabaseContext, SessionContext> = async (call) => {
  const admission = await call.ctx.auth.authenticate(call.ctx.db, call.type).catch((error: unknown) => {
    throw toTRPCError(error, { replay: true })
  })
  return runAdmitted(admission, call)
}
