import {
  type AuthConfig,
  type AuthError,
  denial,
  isFresh,
  requirePositive,
  type Session,
} from '@sallyport/core'
import { authRequest } from './auth-handle.ts'
import type { DatabaseContext } from './context.ts'
import { getFreshSession } from './get-session.ts'
import { createGuard, type Middleware, type SessionContext } from './guard.ts'
import { createTransaction, type TransactionContext } from './transaction.ts'

/** What a sensitive session middleware adds to the context. */
export interface SensitiveSessionContext extends SessionContext, TransactionContext {}

/**
 * Like `sessionMiddleware`, for what must not happen after a revocation: the session is read for this call alone, never taken from
 * an earlier read of the request (spec section 4), and `ctx.transaction` locks it while it writes.
 *
 * @example
 * export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
 * sensitiveProcedure.mutation(({ ctx }) => ctx.transaction((trx) => trx.insertInto('transfer').values(transfer).execute()))
 */
export const sensitiveSessionMiddleware: Middleware<DatabaseContext, SensitiveSessionContext> = sensitive(
  () => null,
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
}: SensitiveSessionOptions): Middleware<DatabaseContext, SensitiveSessionContext> {
  const maxAgeSeconds = requirePositive('maxAge', maxAge)
  return sensitive((session, config) =>
    isFresh(session, { maxAgeSeconds, now: config.now() })
      ? null
      : denial('SESSION_NOT_FRESH', session.id, config),
  )
}

/** @param errorOf checks the session before the resolver runs, and again under the locks of a transaction */
function sensitive(
  errorOf: (session: Session, config: AuthConfig) => AuthError | null,
): Middleware<DatabaseContext, SensitiveSessionContext> {
  return createGuard(
    async (ctx) => {
      const session = await getFreshSession(ctx)
      const error = errorOf(session, ctx.auth[authRequest].config)
      if (error !== null) throw error
      return session
    },
    (call, lease): TransactionContext => ({
      transaction: createTransaction(call, lease, (session) =>
        errorOf(session, call.ctx.auth[authRequest].config),
      ),
    }),
  )
}
