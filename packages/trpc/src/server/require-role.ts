import { denial, type Session } from '@sallyport/core'
import type { AuthContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import type { Middleware } from './guard.ts'

/**
 * Lets a call in only when the user's row has one of these roles. Comes after a session middleware.
 *
 * @example export const adminProcedure = protectedProcedure.use(requireRole('admin'))
 */
export function requireRole(
  ...roles: [string, ...string[]]
): Middleware<AuthContext & { readonly session: Session }, object> {
  return async ({ ctx: { session, auth }, path, next }) => {
    if (roles.includes(session.user.role)) return next()
    throw toTRPCError(denial('ROLE_REQUIRED', session.id, auth.config), { path })
  }
}
