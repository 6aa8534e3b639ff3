import type { DatabaseContext } from './context.ts'
import { type Middleware, orRefuse, runAdmitted, type SessionContext } from './guard.ts'

/**
 * Like `sessionMiddleware`, for what must not happen after a revocation: the session is read for this call alone, never taken from
 * an earlier read of the request (spec section 4).
 *
 * @example export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
 */
export const sensitiveSessionMiddleware: Middleware<DatabaseContext, SessionContext> = async (call) =>
  runAdmitted(await orRefuse(call.ctx.auth.authenticateFresh(call.ctx.db, call.type), call), call)
