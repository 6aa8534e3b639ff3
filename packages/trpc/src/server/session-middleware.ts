import type { AuthConfig, Identity, Session, SessionUser } from '@sallyport/core'
import { AuthError, isAuthError } from '@sallyport/core'
import type { Factor } from '@sallyport/core/internal/protocol'
import { proofError, requireKnownFactor, requirePositive } from '@sallyport/core/internal/server'
import { type AuthHandle, authRequest } from './auth-handle.ts'
import { callLease } from './call-lease.ts'
import type { DatabaseContext } from './context.ts'
import { readFreshSession, readSession } from './get-session.ts'
import { createGuard, guardCall, type SessionContext } from './guard.ts'
import type { Middleware } from './middleware.ts'
import { createTransaction, type TransactionContext } from './transaction.ts'

/**
 * Accepts a call that passes both steps, and adds `ctx.session`, `ctx.user`, and `ctx.identity`. A
 * subscription or a streamed response ends with the reason as soon as the session does.
 *
 * @example export const protectedProcedure = t.procedure.use(sessionMiddleware)
 */
export const sessionMiddleware: Middleware<DatabaseContext, SessionContext> = createGuard({
  read: ({ ctx: { db } }, auth) => readSession({ db, auth }),
})

/** The context members that {@link sensitiveSessionMiddleware} adds. */
export interface SensitiveSessionContext extends SessionContext, TransactionContext {}

/**
 * Accepts a call like {@link sessionMiddleware}, but reads the session for this call alone. Adds
 * `ctx.transaction`, which locks the session while it writes (`docs/sessions.md`).
 *
 * @example
 * export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
 * sensitiveProcedure.mutation(({ ctx, input }) =>
 *   ctx.transaction((trx) => trx.insertInto('transfer').values(input).execute()),
 * )
 */
export const sensitiveSessionMiddleware: Middleware<DatabaseContext, SensitiveSessionContext> = sensitive(
  () => null,
)

/** `Own` is the session with the columns of the app: see {@link bindSession}. */
export interface SensitiveSessionOptions<Own = Session> {
  /**
   * Seconds since the user last proved who they are, or the factor, by a sign-in or a re-authentication.
   * `Infinity` accepts a proof of any age in this session.
   * @default `session.freshForSeconds` of the configuration
   */
  readonly maxAge?: number
  /**
   * The second factor that the user must have proved within `maxAge`. `any-second` accepts a passkey, a TOTP,
   * or a recovery code. A function decides for each session, such as by the role of its user.
   * @default null: any proof of who they are
   */
  readonly factor?: Factor | null | ((session: Own) => Factor | null)
}

/**
 * Creates a {@link sensitiveSessionMiddleware} that rejects calls with `SESSION_NOT_FRESH` after `maxAge`,
 * and with `FACTOR_REQUIRED` if the user hasn't proved the factor in this session. Then
 * `error.data.auth.required` says what satisfies it. An impersonated session is never fresh.
 *
 * @throws ConfigurationError if `maxAge` isn't positive, or `factor` is unknown
 * @example
 * export const paymentProcedure = t.procedure.use(createSensitiveSessionMiddleware({ maxAge: 5 * 60 }))
 * export const staffProcedure = t.procedure.use(
 *   createSensitiveSessionMiddleware({
 *     factor: ({ user }) => (user.role === 'admin' ? 'any-second' : null),
 *     maxAge: Infinity,
 *   }),
 * )
 */
export function createSensitiveSessionMiddleware({
  maxAge,
  factor = null,
}: SensitiveSessionOptions = {}): Middleware<DatabaseContext, SensitiveSessionContext> {
  if (maxAge !== undefined && maxAge !== Number.POSITIVE_INFINITY) requirePositive('maxAge', maxAge)
  if (typeof factor !== 'function') requireKnownFactor('factor', factor)
  return sensitive((session, config) => {
    const required = typeof factor === 'function' ? factor(session) : factor
    requireKnownFactor('factor', required)
    return proofError(session, { factor: required, maxAgeSeconds: maxAge ?? config.freshForSeconds }, config)
  })
}

/** @param errorOf checks the session before the resolver runs, and again under the locks of a transaction */
function sensitive(
  errorOf: (session: Session, config: AuthConfig) => AuthError | null,
): Middleware<DatabaseContext, SensitiveSessionContext> {
  return createGuard({
    async read({ ctx: { db } }, auth) {
      const read = await readFreshSession({ db, auth })
      const error = errorOf(read.session, auth[authRequest].config)
      if (error !== null) throw error
      return read
    },
    add: (call, auth) => ({ transaction: createTransaction(call, auth[callLease], errorOf) }),
  })
}

/** The context members that {@link optionalSessionMiddleware} adds: all null, or none. */
export interface OptionalSessionContext {
  readonly identity: Identity | null
  readonly session: Session | null
  readonly user: SessionUser | null
}

/**
 * Adds `ctx.session`, which is null for an anonymous caller. Still rejects a JWT that must be refreshed, a
 * banned account, a foreign origin, and a call whose session can't be read. A cookie of another library that
 * has no valid signature is ignored.
 *
 * @example
 * const publicProcedure = t.procedure.use(optionalSessionMiddleware)
 * const greeting = publicProcedure.query(({ ctx }) => ctx.user?.name ?? 'guest')
 */
export const optionalSessionMiddleware: Middleware<DatabaseContext, OptionalSessionContext> = (call) =>
  guardCall(call, {
    read: ({ ctx: { db } }, auth) => readSession({ db, auth }).catch((error) => nullIfAnonymous(error, auth)),
  })

/** Returns null for the error of an anonymous caller, and throws any other. */
function nullIfAnonymous(cause: unknown, auth: AuthHandle): null {
  if (!isAuthError(cause)) throw cause
  const { reason } = cause
  const request = auth[authRequest]
  if (reason === 'SESSION_NOT_FOUND' || reason === 'SESSION_EXPIRED') return null
  // No refresh replaces a cookie that another library signed with an older secret. It ignores the cookie.
  // But the caller of Step 2 was someone, for example until the secret changed.
  if (reason === 'TOKEN_INVALID' && request.config.proof !== undefined && !request.isIdentified()) return null
  const isReplaceable = reason === 'TOKEN_MISSING' || reason === 'TOKEN_INVALID'
  if (isReplaceable && request.hasSessionCookie()) throw new AuthError('TOKEN_EXPIRED', { cause })
  if (reason === 'TOKEN_MISSING') return null
  throw cause
}
