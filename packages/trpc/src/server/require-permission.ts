import type { ActiveOrganizationResponse, Permissions, Session } from '@sallyport/core'
import { isImpersonated } from '@sallyport/core/internal/server'
import { authRequest } from './auth-handle.ts'
import type { Middleware } from './middleware.ts'
import {
  type OrganizationContext,
  requireCondition,
  requireInOrganization,
  type SessionCall,
} from './require-condition.ts'

/** Guards for permissions, which `bindSession` returns for a guard of another library. */
export interface PermissionGuards {
  /**
   * Accepts a call only if the roles of the user have these permissions, and rejects others with
   * `ROLE_REQUIRED`. Use it after a session middleware. A stream ends as soon as they lose a permission.
   *
   * @example protectedProcedure.use(requirePermission({ project: ['create'] }))
   */
  readonly requirePermission: (permissions: Permissions) => Middleware<SessionCall, object>
  /**
   * Does the same for the roles of the user in the active organization of their session, and adds
   * `ctx.organization`. A stream also ends when the active organization changes.
   */
  readonly requireOrganizationPermission: (
    permissions: Permissions,
  ) => Middleware<SessionCall<Session & ActiveOrganizationResponse>, OrganizationContext>
  /** Rejects an admin who acts as another user, with `ROLE_REQUIRED`. Use it after a session middleware. */
  readonly forbidImpersonation: Middleware<SessionCall, object>
}

export const permissionGuards: PermissionGuards = {
  requirePermission: (permissions) => async (call) => {
    const { hasPermissions } = call.ctx.auth[authRequest].config
    requireCondition(call, (session) => hasPermissions(session, { permissions, of: 'user' }))
    return call.next()
  },
  requireOrganizationPermission: (permissions) => async (call) => {
    const { hasPermissions } = call.ctx.auth[authRequest].config
    const isMet = (session: Session) => hasPermissions(session, { permissions, of: 'organization' })
    return call.next({ ctx: requireInOrganization(call, isMet) })
  },
  forbidImpersonation: async (call) => {
    requireCondition(call, (session) => !isImpersonated(session))
    return call.next()
  },
}
