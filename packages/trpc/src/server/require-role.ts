import type { Session } from '@sallyport/core'
import { denial } from '@sallyport/core/internal/server'
import { authRequest } from './auth-handle.ts'
import { addCondition, type Condition } from './call-lease.ts'
import type { AuthContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import type { Middleware } from './guard.ts'

/**
 * Accepts a call only if the user's row has one of these roles. Comes after a session middleware. A stream ends with `ROLE_REQUIRED`
 * as soon as the user loses the role.
 *
 * @example export const adminProcedure = protectedProcedure.use(requireRole('admin'))
 */
export function requireRole(
  ...roles: [string, ...string[]]
): Middleware<AuthContext & { readonly session: Session }, object> {
  return async ({ ctx: { session, auth }, path, next }) => {
    const refusalOf: Condition = ({ id, user }) =>
      roles.includes(user.role) ? null : denial('ROLE_REQUIRED', id, auth[authRequest].config)
    const refusal = refusalOf(session)
    if (refusal !== null) throw toTRPCError(refusal, { path })
    addCondition(refusalOf, auth)
    return next()
  }
}
