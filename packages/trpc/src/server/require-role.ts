import type { Session } from '@sallyport/core'
import { denial } from '@sallyport/core/internal/server'
import { authRequest } from './auth-handle.ts'
import { callLease, isLeased } from './call-lease.ts'
import type { AuthContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import type { Middleware } from './middleware.ts'

/**
 * Accepts a call only if the user has one of these roles, and rejects others with `ROLE_REQUIRED`. Use it
 * after a session middleware. A stream ends as soon as the user loses the role.
 *
 * @example export const adminProcedure = protectedProcedure.use(requireRole('admin'))
 */
export function requireRole(
  ...roles: [string, ...string[]]
): Middleware<AuthContext & { readonly session: Session }, object> {
  return async (call) => {
    const { rolesOf } = call.ctx.auth[authRequest].config
    requireCondition(call, ({ user }) => rolesOf(user).some((role) => roles.includes(role)))
    return call.next()
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
 * Accepts a call only if the user has one of these roles in the active organization of their session, rejects
 * others with `ROLE_REQUIRED`, and adds `ctx.organization`. Use it after a session middleware, with
 * the plugin `organization()`. A stream ends as soon as the role is lost or the active organization changes.
 *
 * @example
 * export const staffProcedure = protectedProcedure.use(requireOrganizationRole('owner', 'admin'))
 * staffProcedure.query(({ ctx }) => invoicesOf(ctx.organization.id))
 */
export function requireOrganizationRole(
  ...roles: [string, ...string[]]
): Middleware<AuthContext & { readonly session: Session & ActiveOrganization }, OrganizationContext> {
  return async (call) => {
    const { activeOrganizationId: id, activeOrganizationRole: role } = call.ctx.session
    // The same role in another organization isn't enough: this call is about the first one.
    requireCondition(call, (later: Session & Partial<ActiveOrganization>) => {
      const { activeOrganizationId, activeOrganizationRole: laterRole } = later
      return id !== null && activeOrganizationId === id && roles.some((allowed) => allowed === laterRole)
    })
    return call.next({ ctx: { organization: { id, role } as OrganizationContext['organization'] } })
  }
}

/** Rejects the call, and ends its streams, with `ROLE_REQUIRED` if its session doesn't meet the condition. */
function requireCondition(
  { ctx: { session, auth }, path }: { ctx: AuthContext & { readonly session: Session }; path: string },
  isMet: (session: Session) => boolean,
): void {
  const errorOf = (later: Session) =>
    isMet(later) ? null : denial('ROLE_REQUIRED', later.id, auth[authRequest].config)
  const error = errorOf(session)
  if (error !== null) throw toTRPCError(error, { path })
  if (isLeased(auth)) auth[callLease].conditions.push(errorOf)
}
