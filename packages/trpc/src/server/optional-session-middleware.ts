import { AuthError, type Identity, isAuthError, type Session, type SessionUser } from '@sallyport/core'
import { type Admission, authRequest } from './auth-handle.ts'
import type { DatabaseContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import { type Middleware, runAdmitted } from './guard.ts'
import { storeOf } from './store-of.ts'

/** What {@link optionalSessionMiddleware} adds to the context. */
export interface OptionalSessionContext {
  readonly identity: Identity | null
  readonly session: Session | null
  readonly user: SessionUser | null
}

/**
 * Adds `ctx.session` where there is one and null for a stranger. Someone whose JWT has to be refreshed is no stranger, so that is
 * still refused; so are a banned account, a foreign origin, and whatever cannot be decided.
 *
 * @example const greeting = t.procedure.use(optionalSessionMiddleware).query(({ ctx }) => ctx.session?.user.name ?? 'stranger')
 */
export const optionalSessionMiddleware: Middleware<DatabaseContext, OptionalSessionContext> = async (
  call,
) => {
  const admission = await admitOrNull(call)
  if (admission === null) return call.next({ ctx: { identity: null, session: null, user: null } })
  return runAdmitted(admission, call, { store: storeOf(call.ctx) })
}

async function admitOrNull({
  ctx,
  path,
  type,
}: Pick<
  Parameters<typeof optionalSessionMiddleware>[0],
  'ctx' | 'path' | 'type'
>): Promise<Admission | null> {
  try {
    return await ctx.auth[authRequest].authenticate(storeOf(ctx), type)
  } catch (error) {
    const verdict = isAuthError(error) ? withoutSession(error, ctx) : error
    if (verdict === null) return null
    throw toTRPCError(verdict, { path })
  }
}

/** Null when the caller is a stranger, else the refusal. */
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
