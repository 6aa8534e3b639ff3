import { rejections } from '../../protocol/endpoint-error.ts'

export const OAUTH_ERRORS = {
  SIGN_IN_EXPIRED: { status: 400, message: 'This sign-in has expired or was used. Start again.' },
  SIGN_IN_CANCELED: { status: 400, message: 'You canceled the sign-in at the provider.' },
  SIGN_IN_FAILED: { status: 400, message: 'The sign-in at the provider failed. Start again.' },
  REAUTHENTICATION_UNSUPPORTED: {
    status: 400,
    message: 'This provider cannot confirm that it is you. Sign in again.',
  },
  BROWSER_REQUIRED: { status: 400, message: 'Do this in a browser that is signed in.' },
  PROVIDER_EMAIL_UNVERIFIED: {
    status: 403,
    message: 'Your email is not verified. Verify it, or use another way to sign in.',
  },
  ACCOUNT_MISMATCH: { status: 403, message: 'This is another account at the provider.' },
  ACCOUNT_NOT_FOUND: { status: 404, message: 'This account is not linked.' },
  PROVIDER_TOKEN_MISSING: { status: 404, message: 'Sign in with this provider again.' },
  ACCOUNT_EXISTS: {
    status: 409,
    message: 'An account with this email exists. Sign in to it, and then link this provider.',
  },
  ACCOUNT_TAKEN: { status: 409, message: 'Another user has linked this account.' },
  PROVIDER_UNAVAILABLE: { status: 503, message: 'The provider does not respond. Try again later.' },
} as const

export const oauthError: ReturnType<typeof rejections<typeof OAUTH_ERRORS>> = rejections(OAUTH_ERRORS)
