import { REASONS, type Reason } from '@sallyport/core'

export function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(REASONS, value)
}

/** Whether a refusal is about the JWT, so that another one may be let in. */
export function isAboutToken(reason: Reason): boolean {
  return reason === 'TOKEN_MISSING' || reason === 'TOKEN_EXPIRED' || reason === 'TOKEN_INVALID'
}

/** Whether a refusal is definite about the session: the one kind that signs anyone out. */
export function isSessionOver(reason: Reason): boolean {
  return reason === 'SESSION_NOT_FOUND' || reason === 'SESSION_EXPIRED'
}
