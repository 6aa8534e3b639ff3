import type { DatabaseContext } from './context.ts'
import { createGuard, type Middleware, type SessionContext } from './guard.ts'

/**
 * Like `sessionMiddleware`, for what must not happen after a revocation: the session is read for this call alone, never taken from
 * an earlier read of the request (spec section 4).
 *
 * @example export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
 */
export const sensitiveSessionMiddleware: Middleware<DatabaseContext, SessionContext> = createGuard(
  (auth, db, kind) => auth.authenticateFresh(db, kind),
)
