import { AuthError, type Identity, isAuthError, type Session, type SessionUser } from '@sallyport/core'
import { authRequest } from './auth-handle.ts'
import type { DatabaseContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { getSession } from './get-session.ts'
import { handleOf, type Middleware, runAuthorized } from './guard.ts'

/** What {@link optionalSessionMiddleware} adds to the context. */
export interface OptionalSessionContext {
  readonly identity: Identity | null
  readonly session: Session | null
  readonly user: SessionUser | null
}

/**
 * Adds `ctx.session`, which is null for an anonymous caller. A caller whose JWT must be refreshed isn't anonymous, so that call is
 * still rejected; so are a banned account, a foreign origin, and anything that can't be decided.
 *
 * @example const greeting = t.procedure.use(optionalSessionMiddleware).query(({ ctx }) => ctx.session?.user.name ?? 'stranger')
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
    const rejection = isAuthError(cause) ? withoutSession(cause, ctx) : error
    if (rejection === null) return null
    throw toTRPCError(rejection, { path })
  }
}

/** Returns null if the caller is anonymous, otherwise the error. */
function withoutSession(error: AuthError, { auth }: DatabaseContext): AuthError | null {
  switch (error.reason) {
    case 'SESSION_NOT_FOUND':
    case 'SESSION_EXPIRED':
      return null
    case 'TOKEN_MISSING':
      return auth[authRequest].hasSessionCookie() ? new AuthError('TOKEN_EXPIRED') : null
    case 'TOKEN_EXPIRED':
    case 'TOKEN_INVALID':
      return auth[authRequest].hasSessionCookie() ? new AuthError('TOKEN_EXPIRED', { cause: error }) : error
    default:
      return error
  }
}
