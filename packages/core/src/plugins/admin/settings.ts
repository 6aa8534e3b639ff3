import type { Caller } from '../../endpoints/endpoint.ts'
import { requirePositive } from '../../protocol/settings.ts'

/** What `admin()` takes. */
export interface AdminOptions {
  /** The roles that `setRole` accepts. @default ['user', 'admin'] */
  readonly roles?: readonly string[]
  /**
   * Role changes, bans, and `listAudit` need an admin who signed in or re-authenticated no longer ago than
   * this, in seconds. `false` turns that off. Revocations never need it.
   * @default `session.freshForSeconds` of the configuration
   */
  readonly freshForSeconds?: number | false
}

/** Who may call an endpoint that needs a fresh admin. */
export interface FreshAdmin {
  readonly caller: Extract<Caller, 'admin' | 'fresh-admin'>
  readonly freshForSeconds: number | undefined
}

/**
 * Reads the option `freshForSeconds`.
 *
 * @throws ConfigurationError when it isn't a positive number of seconds
 */
export function freshAdmin({ freshForSeconds }: AdminOptions): FreshAdmin {
  if (freshForSeconds === false) return { caller: 'admin', freshForSeconds: undefined }
  if (freshForSeconds === undefined) return { caller: 'fresh-admin', freshForSeconds }
  return { caller: 'fresh-admin', freshForSeconds: requirePositive('admin.freshForSeconds', freshForSeconds) }
}
