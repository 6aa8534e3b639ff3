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
export type { CheckPassword, ChosenPassword, PasswordRules } from './plugins/email-password/settings.ts'
export type { SignInInput } from './plugins/email-password/sign-in.ts'
export type { SignUpInput } from './plugins/email-password/sign-up.ts'
export type {
  CancelInvitationInput,
  InviteMemberInput,
  ListInvitationsOutput,
} from './plugins/organization/invitations.ts'
export type {
  ListMembersOutput,
  RemoveMemberInput,
  SetMemberRoleInput,
} from './plugins/organization/members.ts'
export { type OrganizationEndpoints, organization } from './plugins/organization/organization.ts'
export type {
  CreateOrganizationInput,
  UpdateOrganizationInput,
} from './plugins/organization/organizations.ts'
export type { OrganizationPageInput } from './plugins/organization/plain-schemas.ts'
export type { SetActiveOrganizationInput } from './plugins/organization/set-active-organization.ts'
export type {
  DeliverInvitation,
  InvitationDelivery,
  OrganizationLimits,
  OrganizationOptions,
} from './plugins/organization/settings.ts'
