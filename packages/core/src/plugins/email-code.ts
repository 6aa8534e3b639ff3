export { type EmailCodeEndpoints, emailCode } from './email-code/email-code.ts'
export type { EmailProof } from './email-code/pending-code.ts'
export type { EmailCodeResponse } from './email-code/request.ts'
export type {
  CodeEmail,
  EmailCodeLimits,
  EmailCodeOptions,
  NoAccountEmail,
  PasswordRemovedEmail,
} from './email-code/settings.ts'
export type { SignInEmailCodeInput } from './email-code/sign-in.ts'
