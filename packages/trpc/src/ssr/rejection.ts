import { isAuthError, REASONS, type Reason } from '@sallyport/core'

/** Why the router rejected a call. */
export interface Rejection {
  readonly reason: Reason
  /** Whether a guard rejected it before the resolver ran, as far as the error says. */
  readonly isReplayable: boolean
}

/** Returns the rejection in the error of a caller, or of a client of another process; null for any other error. */
export function rejectionOf(error: unknown): Rejection | null {
  const { cause, data }: { cause?: unknown; data?: unknown } = Object(error)
  const authError = [error, cause].find(isAuthError)
  if (authError !== undefined) return { reason: authError.reason, isReplayable: true }
  const { auth }: { auth?: unknown } = Object(data)
  const { reason, replay }: { reason?: unknown; replay?: unknown } = Object(auth)
  return isReason(reason) ? { reason, isReplayable: replay === true } : null
}

export function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(REASONS, value)
}
