import { REASONS, type Reason } from '@sallyport/core'

export function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(REASONS, value)
}
