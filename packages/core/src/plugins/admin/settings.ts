import type { Caller } from '../../endpoints/endpoint.ts'
import { type RefusalTable, refusals } from '../../protocol/endpoint-error.ts'
import { positive } from '../../protocol/positive-integer.ts'

/** Options of `admin()`. */
export interface AdminOptions {
  /** The roles that `setRole` accepts. @default ['user', 'admin'] */
  readonly roles?: readonly string[]
  /**
   * Role changes, bans, and `listAudit` need an admin who signed in or re-authenticated within this many
   * seconds. `false` turns that off. Revocations never need it.
   * @default `session.freshForSeconds` of the configuration
   */
  readonly freshForSeconds?: number | false
}

export interface FreshAdmin {
  readonly caller: Extract<Caller, 'admin' | 'fresh-admin'>
  readonly freshForSeconds: number | undefined
}

/** @throws ConfigurationError if `freshForSeconds` isn't a positive number of seconds */
export function freshAdmin({ freshForSeconds }: AdminOptions): FreshAdmin {
  if (freshForSeconds === false) return { caller: 'admin', freshForSeconds: undefined }
  if (freshForSeconds === undefined) return { caller: 'fresh-admin', freshForSeconds }
  return { caller: 'fresh-admin', freshForSeconds: positive('admin.freshForSeconds', freshForSeconds) }
}

export const ADMIN_ERRORS = {
  OWN_ACCOUNT: { status: 409, message: 'An admin cannot do this to themselves' },
} as const
ADMIN_ERRORS satisfies RefusalTable

export const adminError: ReturnType<typeof refusals<typeof ADMIN_ERRORS>> = refusals(ADMIN_ERRORS)
