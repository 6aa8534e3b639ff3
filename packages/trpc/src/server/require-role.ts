import type { Session } from '@sallyport/core'
import { denial } from '@sallyport/core/internal/server'
import { authRequest } from './auth-handle.ts'
import { addCondition } from './call-lease.ts'
import type { AuthContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import type { Middleware } from './guard.ts'

/**
 * Accepts a call only if the user's row has one of these roles. Comes after a session middleware. A stream ends with
 * `ROLE_REQUIRED` as soon as the user loses the role.
 *
 * @example export const adminProcedure = protectedProcedure.use(requireRole('admin'))
 */
export function requireRole(
  ...roles: [string, ...string[]]
): Middleware<AuthContext & { readonly session: Session }, object> {
  return async ({ ctx: { session, auth }, path, next }) => {
    const errorOf = ({ id, user }: Session) =>
      roles.includes(user.role) ? null : denial('ROLE_REQUIRED', id, auth[authRequest].config)
    const error = errorOf(session)
    if (error !== null) throw toTRPCError(error, { path })
    addCondition(errorOf, auth)
    return next()
  }
}

interface ActiveOrganization {
  readonly activeOrganizationId: string | null
  readonly activeOrganizationRole: string | null
}

/** The context members that {@link requireOrganizationRole} adds. */
export interface OrganizationContext {
  readonly organization: { readonly id: string; readonly role: string }
}

/**
 * Accepts a call only if the user has one of these roles in the active organization of their session, and adds
 * `ctx.organization`. Comes after a session middleware whose sessions have the columns of `organization()`. A stream
 * ends with `ROLE_REQUIRED` as soon as the user loses the role or the session's active organization changes.
 *
 * @example
 * export const staffProcedure = protectedProcedure.use(requireOrganizationRole('owner', 'admin'))
 * staffProcedure.query(({ ctx }) => invoicesOf(ctx.organization.id))
 */
export function requireOrganizationRole(
  ...roles: [string, ...string[]]
): Middleware<AuthContext & { readonly session: Session & ActiveOrganization }, OrganizationContext> {
  return async ({ ctx: { session, auth }, path, next }) => {
    const { activeOrganizationId: id, activeOrganizationRole: role } = session
    const rejection = () => denial('ROLE_REQUIRED', session.id, auth[authRequest].config)
    if (id === null || role === null || !roles.includes(role)) throw toTRPCError(rejection(), { path })
    // The same role in another organization isn't enough: this call is about the first one.
    const isStill = (later: Session & Partial<ActiveOrganization>) =>
      later.activeOrganizationId === id && roles.some((allowed) => allowed === later.activeOrganizationRole)
    addCondition((later) => (isStill(later) ? null : rejection()), auth)
    return next({ ctx: { organization: { id, role } } })
  }
}
