import type { AuthPlugin } from '../../endpoints/definition.ts'
import { rejections } from '../../protocol/endpoint-error.ts'
import { requirePositive } from '../../protocol/settings.ts'

export interface AdminOptions {
  /** The roles that `setRole` accepts. @default ['user', 'admin'] */
  readonly roles?: readonly string[]
  /**
   * Role changes, bans, and `listAudit` need an admin who signed in or re-authenticated within this many
   * seconds. `false` turns the check off. Revocations never need it.
   * @default `session.freshForSeconds` of the configuration
   */
  readonly freshForSeconds?: number | false
}

export const DEFAULT_ROLES: readonly string[] = ['user', 'admin']

/** Returns the roles that `admin()` in a definition accepts; null without that plugin. */
export function rolesOf(plugins: readonly AuthPlugin[]): readonly string[] | null {
  return plugins.find(hasRoles)?.roles ?? null
}

function hasRoles(plugin: AuthPlugin): plugin is AuthPlugin & { roles: readonly string[] } {
  return plugin.id === 'admin' && 'roles' in plugin
}

export type FreshAdmin = { caller: 'admin' | 'fresh-admin'; freshForSeconds: number | undefined }

export function freshAdmin({ freshForSeconds }: AdminOptions): FreshAdmin {
  if (freshForSeconds === false) return { caller: 'admin', freshForSeconds: undefined }
  if (freshForSeconds === undefined) return { caller: 'fresh-admin', freshForSeconds }
  return { caller: 'fresh-admin', freshForSeconds: requirePositive('admin.freshForSeconds', freshForSeconds) }
}

export const ADMIN_ERRORS = {
  OWN_ACCOUNT: { status: 409, message: 'You cannot do this to your own account. Ask another admin.' },
} as const

export const adminError: ReturnType<typeof rejections<typeof ADMIN_ERRORS>> = rejections(ADMIN_ERRORS)
