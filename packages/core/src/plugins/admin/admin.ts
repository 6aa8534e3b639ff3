import type { AuthPlugin } from '../../endpoints/definition.ts'
import { listAudit } from './list-audit.ts'
import { listUserFactors, listUserSessions, listUsers } from './list-users.ts'
import {
  banUser,
  resetUserFactors,
  revokeUserSession,
  revokeUserSessions,
  setRole,
  unbanUser,
} from './manage-users.ts'
import { ADMIN_ERRORS, type AdminOptions, freshAdmin } from './settings.ts'

export type AdminEndpoints = {
  readonly listUsers: typeof listUsers
  readonly listUserSessions: typeof listUserSessions
  readonly listUserFactors: typeof listUserFactors
  readonly listAudit: ReturnType<typeof listAudit>
  readonly revokeUserSession: typeof revokeUserSession
  readonly revokeUserSessions: typeof revokeUserSessions
  readonly banUser: ReturnType<typeof banUser>
  readonly unbanUser: ReturnType<typeof unbanUser>
  readonly setRole: ReturnType<typeof setRole>
  readonly resetUserFactors: ReturnType<typeof resetUserFactors>
}

/**
 * Adds endpoints for users with the role `admin`: users, their sessions and factors, bans, roles, and the
 * audit trail.
 * @example admin({ freshForSeconds: 5 * 60, factor: 'any-second' })
 * @throws ConfigurationError if `freshForSeconds` isn't a positive number of seconds, or `factor` is unknown
 */
export function admin(options: AdminOptions = {}): AuthPlugin<AdminEndpoints, Record<never, never>> {
  const fresh = freshAdmin(options)
  const { roles = ['user', 'admin'] } = options
  // For the command line, see `rolesOf`.
  const ofOperators = { roles }
  return {
    ...ofOperators,
    id: 'admin',
    reasons: ADMIN_ERRORS,
    endpoints: {
      listUsers,
      listUserSessions,
      listUserFactors,
      listAudit: listAudit(fresh),
      revokeUserSession,
      revokeUserSessions,
      banUser: banUser(fresh),
      unbanUser: unbanUser(fresh),
      setRole: setRole(roles, fresh),
      resetUserFactors: resetUserFactors(fresh),
    },
  }
}
