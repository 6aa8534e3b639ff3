import type { AuthPlugin } from '../../definition.ts'
import { banUserEndpoint, unbanUserEndpoint } from './ban.ts'
import { listUserSessions, listUsers } from './list-users.ts'
import { REASONS_OF_ADMIN } from './reasons.ts'
import { revokeUserSession, revokeUserSessions } from './revoke-user-sessions.ts'
import { type RoleOptions, setRole } from './set-role.ts'

/** The endpoints of {@link admin}, by the names of their methods. */
export type AdminEndpoints = {
  readonly listUsers: typeof listUsers
  readonly listUserSessions: typeof listUserSessions
  readonly revokeUserSession: typeof revokeUserSession
  readonly revokeUserSessions: typeof revokeUserSessions
  readonly banUser: typeof banUserEndpoint
  readonly unbanUser: typeof unbanUserEndpoint
  readonly setRole: ReturnType<typeof setRole>
}

/**
 * Endpoints for users whose row has the role `admin`: users, their sessions, bans and roles.
 *
 * @param options.roles the roles that may be given. @default ['user', 'admin']
 */
export function admin(options: RoleOptions = {}): AuthPlugin<AdminEndpoints, Record<never, never>> {
  return {
    id: 'admin',
    reasons: REASONS_OF_ADMIN,
    endpoints: {
      listUsers,
      listUserSessions,
      revokeUserSession,
      revokeUserSessions,
      banUser: banUserEndpoint,
      unbanUser: unbanUserEndpoint,
      setRole: setRole(options),
    },
  }
}
