import type { DatabaseContext } from './context.ts'
import { getSession } from './get-session.ts'
import { createGuard, type Middleware, type SessionContext } from './guard.ts'

/**
 * Accepts a call that passes both steps, and adds `ctx.session` and `ctx.identity`. A subscription or streamed response ends with the
 * reason as soon as the session does.
 *
 * @example export const protectedProcedure = t.procedure.use(sessionMiddleware)
 */
export const sessionMiddleware: Middleware<DatabaseContext, SessionContext> = createGuard(getSession)
