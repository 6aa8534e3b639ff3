import { AuthError, type Session } from '@sallyport/core'
import { toTRPCError } from './errors.ts'
import type { Middleware } from './guard.ts'

/**
 * Lets a call in only when the user's row has one of these roles. Comes after a session middleware.
 *
 * @example export const adminProcedure = protectedProcedure.use(requireRole('admin'))
 */
export function requireRole(
  ...roles: [string, ...string[]]
): Middleware<{ readonly session: Session }, object> {
  return async ({ ctx, path, next }) => {
    if (!roles.includes(ctx.session.user.role)) throw toTRPCError(new AuthError('ROLE_REQUIRED'), { path })
    return next()
  }
}
