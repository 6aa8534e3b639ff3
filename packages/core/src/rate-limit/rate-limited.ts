import type { Telemetry } from '../events/telemetry.ts'
import { AuthError } from '../protocol/errors.ts'

/** Creates the error for a caller over a limit, and counts it by the limit's name. */
export function rateLimited(
  limit: string,
  retryAfterSeconds: number,
  { telemetry }: { readonly telemetry: Telemetry | undefined },
): AuthError {
  telemetry?.count('rateLimited', { limit })
  return new AuthError('RATE_LIMITED', { retryAfterSeconds })
}
