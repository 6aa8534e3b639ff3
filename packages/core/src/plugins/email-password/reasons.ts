import { type RejectionTable, rejections } from '../../protocol/endpoint-error.ts'

/** What may be wrong with a call of an endpoint of `emailPassword()`. */
export const REASONS_OF_EMAIL_PASSWORD = {
  PASSWORD_TOO_COMMON: { status: 400, message: 'This password is too easy to guess. Choose another one.' },
  PASSWORD_BREACHED: {
    status: 400,
    message: 'This password is known from a data breach. Choose another one.',
  },
  LINK_INVALID: { status: 400, message: 'This link has expired or has been used' },
  INVALID_CREDENTIALS: { status: 401, message: 'Email or password is wrong' },
  EMAIL_TAKEN: { status: 409, message: 'There is an account with this email' },
  EMAIL_UNAVAILABLE: { status: 501, message: 'This app sends no emails' },
} as const
REASONS_OF_EMAIL_PASSWORD satisfies RejectionTable

/** Makes a refusal of {@link REASONS_OF_EMAIL_PASSWORD}. */
export const refuseEmailPassword: ReturnType<typeof rejections<typeof REASONS_OF_EMAIL_PASSWORD>> =
  rejections(REASONS_OF_EMAIL_PASSWORD)
