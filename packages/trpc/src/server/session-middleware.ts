import type { AuthConfig, Identity, Session, SessionUser } from '@sallyport/core'
import { AuthError, isAuthError } from '@sallyport/core'
import { denial, isFresh, requirePositive } from '@sallyport/core/internal/server'
import { authRequest } from './auth-handle.ts'
import type { DatabaseContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { getFreshSession, getSession } from './get-session.ts'
import { createGuard, handleOf, type Middleware, runAuthorized, type SessionContext } from './guard.ts'
import { createTransaction, type TransactionContext } from './transaction.ts'

/**
 * Accepts a call that passes both steps, and adds `ctx.session` and `ctx.identity`. A subscription or streamed
 * response ends with the reason as soon as the session does.
 *
 * @example export const protectedProcedure = t.procedure.use(sessionMiddleware)
 */
export const sessionMiddleware: Middleware<DatabaseContext, SessionContext> = createGuard(getSession)

export interface SensitiveSessionContext extends SessionContext, TransactionContext {}

type SensitiveSessionMiddleware = Middleware<DatabaseContext, SensitiveSessionContext>

/**
 * Like {@link sessionMiddleware}, but reads the session for this call alone (spec section 4), and adds
 * `ctx.transaction`, which locks the session while it writes.
 *
 * @example
 * export const sensitiveProcedure = t.procedure.use(sensitiveSessionMiddleware)
 * sensitiveProcedure.mutation(({ ctx }) => ctx.transaction((trx) => trx.insertInto('transfer').values(transfer).execute()))
 */
export const sensitiveSessionMiddleware: SensitiveSessionMiddleware = sensitive(() => null)

export interface SensitiveSessionOptions {
  /** Seconds since the user last proved who they are, at sign-in or by `reauthenticate`. */
  readonly maxAge: number
}

/**
 * Like {@link sensitiveSessionMiddleware}, and rejects with `SESSION_NOT_FRESH` after `maxAge`.
 *
 * @example export const paymentProcedure = t.procedure.use(createSensitiveSessionMiddleware({ maxAge: 5 * 60 }))
 */
export function createSensitiveSessionMiddleware(
  options: SensitiveSessionOptions,
): SensitiveSessionMiddleware {
  const maxAgeSeconds = requirePositive('maxAge', options.maxAge)
  return sensitive((session, config) =>
    isFresh(session, { maxAgeSeconds, now: config.now() })
      ? null
      : denial('SESSION_NOT_FRESH', session.id, config),
  )
}

/** @param errorOf checks the session before the resolver runs, and again under the locks of a transaction */
function sensitive(
  errorOf: (session: Session, config: AuthConfig) => AuthError | null,
): SensitiveSessionMiddleware {
  async function getSensitiveSession(ctx: DatabaseContext): Promise<Session> {
    const session = await getFreshSession(ctx)
    const error = errorOf(session, ctx.auth[authRequest].config)
    if (error !== null) throw error
    return session
  }
  return createGuard(getSensitiveSession, (call, lease) => ({
    transaction: createTransaction(call, lease, errorOf),
  }))
}

export interface OptionalSessionContext {
  readonly identity: Identity | null
  readonly session: Session | null
  readonly user: SessionUser | null
}

/**
 * Adds `ctx.session`, which is null for an anonymous caller. Still rejects a JWT that must be refreshed, a banned
 * account, a foreign origin, and anything that can't be decided.
 *
 * @example const greeting = t.procedure.use(optionalSessionMiddleware).query(({ ctx }) => ctx.session?.user.name ?? 'guest')
 */
export const optionalSessionMiddleware: Middleware<DatabaseContext, OptionalSessionContext> = async (
  call,
) => {
  const auth = handleOf(call)
  const session = await getSessionOrNull({ db: call.ctx.db, auth }, call.path)
  if (session === null) return call.next({ ctx: { identity: null, session: null, user: null } })
  return runAuthorized(call, { auth, session })
}

async function getSessionOrNull(ctx: DatabaseContext, path: string): Promise<Session | null> {
  try {
    return await getSession(ctx)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : null
    const rejection = isAuthError(cause) ? rejectionOf(cause, ctx) : error
    if (rejection === null) return null
    throw toTRPCError(rejection, { path })
  }
}

/** Returns null if the caller is anonymous, otherwise the error. */
function rejectionOf(error: AuthError, { auth }: DatabaseContext): AuthError | null {
  const { reason } = error
  if (reason === 'SESSION_NOT_FOUND' || reason === 'SESSION_EXPIRED') return null
  const isToken = reason === 'TOKEN_MISSING' || reason === 'TOKEN_EXPIRED' || reason === 'TOKEN_INVALID'
  if (isToken && auth[authRequest].hasSessionCookie()) return new AuthError('TOKEN_EXPIRED', { cause: error })
  return reason === 'TOKEN_MISSING' ? null : error
}
