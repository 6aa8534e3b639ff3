import type { DatabaseContext } from './context.ts'
import { createGuard, type Middleware, type SessionContext } from './guard.ts'

/**
 * Lets a call in when both doors do, and adds `ctx.session` and `ctx.identity`. A subscription or streamed answer ends with the
 * reason as soon as the session does.
 *
 * @example export const protectedProcedure = t.procedure.use(sessionMiddleware)
 */
export const sessionMiddleware: Middleware<DatabaseContext, SessionContext> = createGuard(
  (request, store, kind) => request.authenticate(store, kind),
)
