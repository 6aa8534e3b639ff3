import type { AuthPlugin } from '../../endpoints/definition.ts'
import { cancelInvitation, inviteMember, listInvitations } from './invitations.ts'
import { leaveOrganizations, listMembers, removeMember, setMemberRole } from './members.ts'
import { createOrganization, deleteOrganization, updateOrganization } from './organizations.ts'
import { acceptInvitation, listOrganizations, setActiveOrganization } from './own-organizations.ts'
import { ORGANIZATION_ERRORS, type OrganizationOptions, toSettings } from './settings.ts'
import { migrations, type OrganizationColumns, sessionColumns } from './tables.ts'

export type OrganizationEndpoints = {
  readonly createOrganization: ReturnType<typeof createOrganization>
  readonly listOrganizations: typeof listOrganizations
  readonly updateOrganization: typeof updateOrganization
  readonly deleteOrganization: typeof deleteOrganization
  readonly setActiveOrganization: typeof setActiveOrganization
  readonly inviteMember: ReturnType<typeof inviteMember>
  readonly acceptInvitation: ReturnType<typeof acceptInvitation>
  readonly cancelInvitation: typeof cancelInvitation
  readonly listInvitations: typeof listInvitations
  readonly listMembers: typeof listMembers
  readonly setMemberRole: ReturnType<typeof setMemberRole>
  readonly removeMember: typeof removeMember
}

/**
 * Adds organizations: members with roles, invitations, and the organization that a session works in.
 * `ctx.session` gets `activeOrganizationId` and `activeOrganizationRole`. `requireOrganizationRole` of
 * `@sallyport/trpc` checks them.
 * @example organization({ deliverInvitation: ({ email, token }) => mailer.send(email, texts.invite(token)) })
 * @throws ConfigurationError naming the option that can't work
 */
export function organization(
  options: OrganizationOptions = {},
): AuthPlugin<OrganizationEndpoints, Record<never, never>, OrganizationColumns> {
  const settings = toSettings(options)
  return {
    id: 'organization',
    reasons: ORGANIZATION_ERRORS,
    migrations,
    sessionColumns,
    expiringTables: ['invitation'],
    async onChange(event, trx, record) {
      if (event.type === 'user.deleted') await leaveOrganizations(trx, record, event)
    },
    endpoints: {
      createOrganization: createOrganization(settings),
      listOrganizations,
      updateOrganization,
      deleteOrganization,
      setActiveOrganization,
      inviteMember: inviteMember(settings),
      acceptInvitation: acceptInvitation(settings),
      cancelInvitation,
      listInvitations,
      listMembers,
      setMemberRole: setMemberRole(settings),
      removeMember,
    },
  }
}
