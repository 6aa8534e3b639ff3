import type { AuthPlugin } from '../../endpoints/definition.ts'
import { rejections } from '../../protocol/endpoint-error.ts'
import { requirePositive } from '../../protocol/settings.ts'
import type { Factor } from '../../protocol.ts'

export interface AdminOptions {
  /** The roles that `setRole` accepts. @default ['user', 'admin'] */
  readonly roles?: readonly string[]
  /**
   * Role changes, bans, factor resets, and `listAudit` need an admin who signed in or re-authenticated within
   * this many seconds. `false` turns the check off. Revocations never need it.
   * @default `session.freshForSeconds` of the configuration
   */
  readonly freshForSeconds?: number | false
  /**
   * The second factor that these actions also need, proved within `freshForSeconds`; with `false`, at any
   * time in the session. @default none
   */
  readonly factor?: Factor
}

/** Returns the roles that `admin()` in a definition accepts; null without that plugin. */
export function rolesOf(plugins: readonly AuthPlugin[]): readonly string[] | null {
  return plugins.find(hasRoles)?.roles ?? null
}

function hasRoles(plugin: AuthPlugin): plugin is AuthPlugin & { roles: readonly string[] } {
  return plugin.id === 'admin' && 'roles' in plugin
}

/** The members of an endpoint definition that decide which admins may call it. */
export interface FreshAdmin {
  readonly caller: 'admin' | 'fresh-admin'
  readonly freshForSeconds: number | undefined
  readonly factor: Factor | undefined
}

export function freshAdmin({ freshForSeconds, factor }: AdminOptions): FreshAdmin {
  const isOff = freshForSeconds === false && factor === undefined
  const caller = isOff ? 'admin' : 'fresh-admin'
  if (isOff || freshForSeconds === undefined) return { caller, freshForSeconds: undefined, factor }
  if (freshForSeconds === false) return { caller, freshForSeconds: Number.POSITIVE_INFINITY, factor }
  return { caller, freshForSeconds: requirePositive('admin.freshForSeconds', freshForSeconds), factor }
}

export const ADMIN_ERRORS = {
  OWN_ACCOUNT: { status: 409, message: 'You cannot do this to your own account. Ask another admin.' },
} as const

export const adminError: ReturnType<typeof rejections<typeof ADMIN_ERRORS>> = rejections(ADMIN_ERRORS)
