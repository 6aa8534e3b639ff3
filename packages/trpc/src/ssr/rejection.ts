import { isAuthError, type Reason } from '@sallyport/core'
import { isReason } from './reason.ts'

/** Why the router refused. */
export interface Refusal {
  readonly reason: Reason
  /** Whether a guard refused before the resolver ran, as far as the error tells. */
  readonly isReplayable: boolean
}

/** The refusal in what a caller threw, or a client of a router in another process; null when it is none of ours. */
export function refusalOf(error: unknown): Refusal | null {
  if (isAuthError(error)) return { reason: error.reason, isReplayable: true }
  if (typeof error !== 'object' || error === null) return null
  if ('cause' in error && isAuthError(error.cause)) return { reason: error.cause.reason, isReplayable: true }
  const auth = memberOf(memberOf(error, 'data'), 'auth')
  const reason = memberOf(auth, 'reason')
  return isReason(reason) ? { reason, isReplayable: memberOf(auth, 'replay') === true } : null
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
