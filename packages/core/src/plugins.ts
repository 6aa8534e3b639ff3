export { type AdminEndpoints, admin } from './plugins/admin/admin.ts'
export type { BanUserInput } from './plugins/admin/ban.ts'
export type { ListUsersInput, ListUsersOutput } from './plugins/admin/list-users.ts'
export type { RoleOptions } from './plugins/admin/set-role.ts'
export { createPasswordAccount } from './plugins/email-password/accounts.ts'
export type { AttemptLimits } from './plugins/email-password/attempts.ts'
export type { ChangePasswordInput } from './plugins/email-password/change-password.ts'
export {
  type EmailPasswordEndpoints,
  type EmailPasswordOptions,
  emailPassword,
} from './plugins/email-password/email-password.ts'
export type { ResetPasswordInput } from './plugins/email-password/reset-password.ts'
export type { EmailUser, LinkEmail, NoticeEmail, SendEmail } from './plugins/email-password/send-email.ts'
export type { SignInInput } from './plugins/email-password/sign-in.ts'
export type { SignUpInput } from './plugins/email-password/sign-up.ts'
