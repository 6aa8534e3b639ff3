export { createPasswordAccount, type NewPasswordAccount } from './email-password/accounts.ts'
export { type BreachedPasswordsOptions, breachedPasswords } from './email-password/breached-passwords.ts'
export {
  type EmailPasswordEndpoints,
  emailPassword,
  type UsernameEndpoints,
} from './email-password/email-password.ts'
export type { OtherHash, OtherHashName } from './email-password/other-hashes.ts'
export type { ChangePasswordInput } from './email-password/own-password.ts'
export type { ResetPasswordInput } from './email-password/reset-password.ts'
export type {
  Email,
  EmailChangedEmail,
  LinkEmail,
  NewSignInEmail,
  NoticeEmail,
  SendEmail,
} from './email-password/send-email.ts'
export type {
  AttemptLimits,
  CheckPassword,
  ChosenPassword,
  EmailPasswordOptions,
  PasswordRules,
} from './email-password/settings.ts'
export type { SignInInput } from './email-password/sign-in.ts'
export type { SignUpInput } from './email-password/sign-up.ts'
export type { UsernameResponse } from './email-password/usernames.ts'
export type { VerifyEmailInput } from './email-password/verify-email.ts'
export type { EmailUser } from './email-user.ts'
