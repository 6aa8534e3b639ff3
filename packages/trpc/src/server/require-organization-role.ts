import type { Session } from '@sallyport/core'
import { denial } from '@sallyport/core/internal/server'
import { authRequest } from './auth-handle.ts'
import { addCondition, type Condition } from './call-lease.ts'
import type { AuthContext } from './context.ts'
import { toTRPCError } from './errors.ts'
import type { Middleware } from './guard.ts'

/** What `organization()` adds to a session. */
interface ActiveOrganization {
  readonly activeOrganizationId: string | null
  readonly activeOrganizationRole: string | null
}

/** What {@link requireOrganizationRole} adds to the context. */
export interface OrganizationContext {
  /** The organization that the session works in, and what its user is there. */
  readonly organization: { readonly id: string; readonly role: string }
}

/**
 * Lets a call in only when the user has one of these roles in the organization that their session works in, which is `ctx.organization`
 * from then on. Comes after the session middleware of `session.ts`, whose sessions have the columns of `organization()`. A stream
 * ends with `ROLE_REQUIRED` as soon as the role is lost or the session works elsewhere, and `ctx.transaction` asks again under its locks.
 *
 * @example
 * export const staffProcedure = protectedProcedure.use(requireOrganizationRole('owner', 'admin'))
 * staffProcedure.query(({ ctx }) => invoicesOf(ctx.organization.id))
 */
export function requireOrganizationRole(
  ...roles: [string, ...string[]]
): Middleware<AuthContext & { readonly session: Session & ActiveOrganization }, OrganizationContext> {
  return async ({ ctx: { session, auth }, path, next }) => {
    const { activeOrganizationId: id, activeOrganizationRole: role } = session
    const refuse = () => denial('ROLE_REQUIRED', session.id, auth[authRequest].config)
    if (id === null || role === null || !roles.includes(role)) throw toTRPCError(refuse(), { path })
    // With the same role elsewhere it is still not the organization that this call is about.
    const isStill = ({
      activeOrganizationId,
      activeOrganizationRole,
    }: Session & Partial<ActiveOrganization>) =>
      activeOrganizationId === id && roles.some((allowed) => allowed === activeOrganizationRole)
    const refusalOf: Condition = (later) => (isStill(later) ? null : refuse())
    addCondition(refusalOf, auth)
    return next({ ctx: { organization: { id, role } } })
  }
}
