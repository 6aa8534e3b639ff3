import type { AuthPlugin } from '../../endpoints/definition.ts'
import { banUserEndpoint, unbanUserEndpoint } from './ban.ts'
import { listAudit } from './list-audit.ts'
import { listUserSessions, listUsers } from './list-users.ts'
import { revokeUserSession, revokeUserSessions } from './revoke-user-sessions.ts'
import { setRole } from './set-role.ts'
import { ADMIN_ERRORS, type AdminOptions, freshAdmin } from './settings.ts'

/** The endpoints of {@link admin}, by method name. */
export type AdminEndpoints = {
  readonly listUsers: typeof listUsers
  readonly listUserSessions: typeof listUserSessions
  readonly listAudit: ReturnType<typeof listAudit>
  readonly revokeUserSession: typeof revokeUserSession
  readonly revokeUserSessions: typeof revokeUserSessions
  readonly banUser: ReturnType<typeof banUserEndpoint>
  readonly unbanUser: ReturnType<typeof unbanUserEndpoint>
  readonly setRole: ReturnType<typeof setRole>
}

/**
 * Adds endpoints for users with the role `admin`: users, their sessions, bans, roles, and the audit trail.
 *
 * @example admin({ freshForSeconds: 5 * 60 })
 * @throws ConfigurationError if `freshForSeconds` isn't a positive number of seconds
 */
export function admin(options: AdminOptions = {}): AuthPlugin<AdminEndpoints, Record<never, never>> {
  const fresh = freshAdmin(options)
  return {
    id: 'admin',
    reasons: ADMIN_ERRORS,
    endpoints: {
      listUsers,
      listUserSessions,
      listAudit: listAudit(fresh),
      revokeUserSession,
      revokeUserSessions,
      banUser: banUserEndpoint(fresh),
      unbanUser: unbanUserEndpoint(fresh),
      setRole: setRole(options, fresh),
    },
  }
}
