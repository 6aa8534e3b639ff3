import type { DatabaseContext } from './context.ts'
import { type Middleware, orRefuse, runAdmitted, type SessionContext } from './guard.ts'

/**
 * Lets a call in when both doors do, and adds `ctx.session` and `ctx.identity`. A subscription or streamed answer ends with the
 * reason as soon as the session does.
 *
 * @example export const protectedProcedure = t.procedure.use(sessionMiddleware)
 */
export const sessionMiddleware: Middleware<DatabaseContext, SessionContext> = async (call) =>
  runAdmitted(await orRefuse(call.ctx.auth.authenticate(call.ctx.db, call.type), call), call)
