import type { AuthPlugin } from '../../endpoints/definition.ts'
import { banUserEndpoint, unbanUserEndpoint } from './ban.ts'
import { listAudit } from './list-audit.ts'
import { listUserSessions, listUsers } from './list-users.ts'
import { REASONS_OF_ADMIN } from './reasons.ts'
import { revokeUserSession, revokeUserSessions } from './revoke-user-sessions.ts'
import { setRole } from './set-role.ts'
import { type AdminOptions, freshAdmin } from './settings.ts'

/** The endpoints of {@link admin}, by the names of their methods. */
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
 * Endpoints for users with the role `admin`: users, their sessions, bans, roles, and the audit trail.
 *
 * @example admin({ freshForSeconds: 5 * 60 })
 * @throws ConfigurationError when `freshForSeconds` isn't a positive number of seconds
 */
export function admin(options: AdminOptions = {}): AuthPlugin<AdminEndpoints, Record<never, never>> {
  const fresh = freshAdmin(options)
  return {
    id: 'admin',
    reasons: REASONS_OF_ADMIN,
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
