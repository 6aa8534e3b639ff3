export { type AdminEndpoints, admin } from './plugins/admin/admin.ts'
export type { BanUserInput } from './plugins/admin/ban.ts'
export type { ListAuditInput, ListAuditOutput } from './plugins/admin/list-audit.ts'
export type { ListUsersInput, ListUsersOutput } from './plugins/admin/list-users.ts'
export type { AdminOptions } from './plugins/admin/settings.ts'
export { createPasswordAccount, type NewPasswordAccount } from './plugins/email-password/accounts.ts'
export type { AttemptLimits } from './plugins/email-password/attempts.ts'
export {
  type BreachedPasswordsOptions,
  breachedPasswords,
} from './plugins/email-password/breached-passwords.ts'
export type { ChangePasswordInput } from './plugins/email-password/change-password.ts'
export type { CheckPassword, ChosenPassword } from './plugins/email-password/check-password.ts'
export {
  type EmailPasswordEndpoints,
  type EmailPasswordOptions,
  emailPassword,
} from './plugins/email-password/email-password.ts'
export type { ResetPasswordInput } from './plugins/email-password/reset-password.ts'
export type {
  Email,
  EmailChangedEmail,
  EmailUser,
  LinkEmail,
  NewSignInEmail,
  NoticeEmail,
  SendEmail,
} from './plugins/email-password/send-email.ts'
export type { PasswordRules } from './plugins/email-password/settings.ts'
export type { SignInInput } from './plugins/email-password/sign-in.ts'
export type { SignUpInput } from './plugins/email-password/sign-up.ts'
export type { CancelInvitationInput } from './plugins/organization/cancel-invitation.ts'
export type { CreateOrganizationInput } from './plugins/organization/create-organization.ts'
export type { InviteMemberInput } from './plugins/organization/invite-member.ts'
export type { ListInvitationsOutput } from './plugins/organization/list-invitations.ts'
export type { ListMembersOutput } from './plugins/organization/list-members.ts'
export { type OrganizationEndpoints, organization } from './plugins/organization/organization.ts'
export type { OrganizationPageInput } from './plugins/organization/page.ts'
export type { RemoveMemberInput } from './plugins/organization/remove-member.ts'
export type { SetActiveOrganizationInput } from './plugins/organization/set-active-organization.ts'
export type { SetMemberRoleInput } from './plugins/organization/set-member-role.ts'
export type {
  DeliverInvitation,
  InvitationDelivery,
  OrganizationLimits,
  OrganizationOptions,
} from './plugins/organization/settings.ts'
export type { UpdateOrganizationInput } from './plugins/organization/update-organization.ts'
