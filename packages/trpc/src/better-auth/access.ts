import type { AuthConfig, Permissions, Session } from '@sallyport/core'
import { defaultRoles as defaultAdminRoles } from 'better-auth/plugins/admin/access'
import { defaultRoles as defaultMemberRoles } from 'better-auth/plugins/organization/access'
import type { BetterAuthSource } from './source.ts'

/** The options of the plugins `admin` and `organization` that control access. */
interface AccessOptions {
  readonly roles?: Roles | undefined
  readonly adminRoles?: string | readonly string[] | undefined
  readonly defaultRole?: string | undefined
  readonly adminUserIds?: readonly string[] | undefined
}

type Roles = Readonly<
  Record<string, { authorize(permissions: Permissions): { readonly success: boolean } } | undefined>
>

type Options = BetterAuthSource['auth']['options']

interface MemberSession extends Session {
  readonly activeOrganizationRole?: string | null
}

/**
 * Returns the functions that check roles and permissions. They follow Better Auth: commas separate the roles
 * of users and members, and users in `adminUserIds` are admins with every permission. Only the roles in its
 * options have permissions. Roles in the database (`dynamicAccessControl`) have none.
 */
export function accessOf(
  source: BetterAuthSource,
): Pick<AuthConfig, 'rolesOf' | 'memberRolesOf' | 'hasPermissions'> {
  const isAdmin = (userId: string) =>
    optionsOf('admin', source.auth.options)?.adminUserIds?.includes(userId) ?? false
  return {
    rolesOf({ id, role }) {
      const roles = role.split(',')
      return isAdmin(id) ? [...roles, ...adminRolesOf(source)] : roles
    },
    memberRolesOf,
    hasPermissions(session, { permissions, of }) {
      if (of === 'user') {
        if (isAdmin(session.userId)) return true
        const options = optionsOf('admin', source.auth.options)
        return allows(session.user.role.split(','), { permissions, options, defaultRoles: defaultAdminRoles })
      }
      const { activeOrganizationRole: role }: MemberSession = session
      const options = optionsOf('organization', source.auth.options)
      return allows(memberRolesOf(role ?? ''), { permissions, options, defaultRoles: defaultMemberRoles })
    },
  }
}

/** Returns the role of users who have none. */
export function defaultRoleOf(options: Options): string {
  return optionsOf('admin', options)?.defaultRole ?? 'user'
}

function memberRolesOf(role: string): readonly string[] {
  return role.split(',').map((name) => name.trim())
}

/** Returns the options of a plugin; undefined if the app doesn't have it. */
function optionsOf(pluginId: string, { plugins }: Options): AccessOptions | undefined {
  const plugin = plugins?.find(({ id }) => id === pluginId)
  return plugin && { ...plugin.options }
}

function adminRolesOf(source: BetterAuthSource): readonly string[] {
  const { adminRoles = ['admin'] } = optionsOf('admin', source.auth.options) ?? {}
  return typeof adminRoles === 'string' ? adminRoles.split(',') : adminRoles
}

interface Access {
  readonly permissions: Permissions
  readonly options: AccessOptions | undefined
  readonly defaultRoles: Roles
}

/** Returns whether one of the roles has all the permissions. */
function allows(roles: readonly string[], { permissions, options, defaultRoles }: Access): boolean {
  if (options === undefined) return false
  const known = options.roles ?? defaultRoles
  return roles.some(
    (role) => Object.hasOwn(known, role) && known[role]?.authorize(permissions).success === true,
  )
}
