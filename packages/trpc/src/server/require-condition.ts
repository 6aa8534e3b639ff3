import type { ActiveOrganizationResponse, Session } from '@sallyport/core'
import { denial } from '@sallyport/core/internal/server'
import { authCall, authRequest } from './auth-handle.ts'
import { callLease, isLeased } from './call-lease.ts'
import type { AuthContext } from './context.ts'
import { toTRPCError } from './errors.ts'

/** The context that guards of roles and permissions need. */
export type SessionCall<Of extends Session = Session> = AuthContext & { readonly session: Of }

/** The context members that `requireOrganizationRole` adds. */
export interface OrganizationContext {
  readonly organization: { readonly id: string; readonly role: string }
}

/** Rejects the call, and ends its streams, with `ROLE_REQUIRED` if its session doesn't meet the condition. */
export function requireCondition(
  { ctx: { session, auth }, path }: { ctx: SessionCall; path: string },
  isMet: (session: Session) => boolean,
): void {
  const errorOf = (later: Session) =>
    isMet(later) ? null : denial('ROLE_REQUIRED', later.id, { config: auth[authRequest].config })
  const error = errorOf(session)
  if (error !== null) throw toTRPCError(error, { path })
  // If a resolver calls a procedure without a guard, that procedure has the resolver's handle.
  if (isLeased(auth) && auth[authCall].path === path) auth[callLease].conditions.push(errorOf)
}

/** Does the same for a condition on the active organization of the session, which must stay the same. */
export function requireInOrganization(
  call: { ctx: SessionCall<Session & ActiveOrganizationResponse>; path: string },
  isMet: (session: Session & { readonly activeOrganizationRole: string }) => boolean,
): OrganizationContext {
  const { activeOrganizationId: id, activeOrganizationRole: role } = call.ctx.session
  // The same role in another organization isn't enough: this call is about the first one.
  requireCondition(call, (later: Session & Partial<ActiveOrganizationResponse>) => {
    const { activeOrganizationId, activeOrganizationRole } = later
    if (id === null || activeOrganizationId !== id) return false
    return typeof activeOrganizationRole === 'string' && isMet({ ...later, activeOrganizationRole })
  })
  return { organization: { id, role } as OrganizationContext['organization'] }
}
