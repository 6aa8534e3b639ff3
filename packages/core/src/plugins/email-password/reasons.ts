import { rejections } from '../../protocol/endpoint-error.ts'

export const EMAIL_PASSWORD_ERRORS = {
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

export const emailPasswordError: ReturnType<typeof rejections<typeof EMAIL_PASSWORD_ERRORS>> =
  rejections(EMAIL_PASSWORD_ERRORS)
