import type { ActiveOrganizationResponse, Session } from '@sallyport/core'
import { authRequest } from './auth-handle.ts'
import type { Middleware } from './middleware.ts'
import {
  type OrganizationContext,
  requireCondition,
  requireInOrganization,
  type SessionCall,
} from './require-condition.ts'

/**
 * Accepts a call only if the user has one of these roles, and rejects others with `ROLE_REQUIRED`. Use it
 * after a session middleware. A stream ends as soon as the user loses the role.
 *
 * @example export const adminProcedure = protectedProcedure.use(requireRole('admin'))
 */
export function requireRole(...roles: [role: string, ...roles: string[]]): Middleware<SessionCall, object> {
  return async (call) => {
    const { rolesOf } = call.ctx.auth[authRequest].config
    requireCondition(call, ({ user }) => rolesOf(user).some((role) => roles.includes(role)))
    return call.next()
  }
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
  ...roles: [role: string, ...roles: string[]]
): Middleware<SessionCall<Session & ActiveOrganizationResponse>, OrganizationContext> {
  return async (call) => {
    const { memberRolesOf } = call.ctx.auth[authRequest].config
    const ctx = requireInOrganization(call, ({ activeOrganizationRole }) =>
      memberRolesOf(activeOrganizationRole).some((role) => roles.includes(role)),
    )
    return call.next({ ctx })
  }
}
