import { denial, isFresh, positive } from '@sallyport/core'
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

/** What {@link createSensitiveSessionMiddleware} takes. */
export interface SensitiveSessionOptions {
  /** Seconds since the user last proved who they are, at sign-in or by `reauthenticate`. */
  readonly maxAge: number
}

/**
 * Like {@link sensitiveSessionMiddleware}, and a session whose user proved who they are longer ago than `maxAge` is refused with
 * `SESSION_NOT_FRESH` until they do so again.
 *
 * @example export const paymentProcedure = t.procedure.use(createSensitiveSessionMiddleware({ maxAge: 5 * 60 }))
 */
export function createSensitiveSessionMiddleware({
  maxAge,
}: SensitiveSessionOptions): Middleware<DatabaseContext, SessionContext> {
  const maxAgeSeconds = positive('maxAge', maxAge)
  return createGuard(async (auth, db, kind) => {
    const admission = await auth.authenticateFresh(db, kind)
    const { config } = auth
    const isRecent = isFresh(admission.session, { maxAgeSeconds, now: config.now() })
    if (isRecent) return admission
    throw denial('SESSION_NOT_FRESH', admission.session.id, config)
  })
}
