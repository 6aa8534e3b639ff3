import type { Telemetry } from '../events/telemetry.ts'
import { AuthError } from '../protocol/errors.ts'

/** Creates the error for a caller over a limit, and counts it under the name of the limit. */
export function rateLimited(
  limit: string,
  retryAfterSeconds: number,
  { telemetry }: { readonly telemetry: Telemetry | undefined },
): AuthError {
  telemetry?.count('rateLimited', { limit })
  return new AuthError('RATE_LIMITED', { retryAfterSeconds })
}
