export type {
  CancelInvitationInput,
  InviteMemberInput,
  ListInvitationsOutput,
} from './organization/invitations.ts'
export type { ListMembersOutput, RemoveMemberInput, SetMemberRoleInput } from './organization/members.ts'
export { type OrganizationEndpoints, organization } from './organization/organization.ts'
export type { CreateOrganizationInput, UpdateOrganizationInput } from './organization/organizations.ts'
export type { SetActiveOrganizationInput } from './organization/own-organizations.ts'
export type { OrganizationPageInput } from './organization/plain-schemas.ts'
export type {
  DeliverInvitation,
  InvitationDelivery,
  OrganizationLimits,
  OrganizationOptions,
} from './organization/settings.ts'
export type { OrganizationColumns } from './organization/tables.ts'
