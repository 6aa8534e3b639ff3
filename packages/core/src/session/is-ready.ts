import type { AuthConfig } from '../config.ts'
import { errorAndCauses } from '../protocol/causes.ts'
import { withDeadline } from '../protocol/deadline.ts'
import { ConfigurationError, isAuthError, isConfigurationError } from '../protocol/errors.ts'
import type { SessionReader } from './session.ts'

/** Returns whether both steps can decide now, for health checks. Never throws. */
export async function isReady(config: AuthConfig, sessions: SessionReader): Promise<boolean> {
  try {
    await checkKeys(config)
    await checkLookup(config, sessions)
    return true
  } catch {
    return false
  }
}

/** Waits until Step 1 can verify our own JWTs. @throws AuthError `KEYS_UNAVAILABLE` */
export function checkKeys({ issuers, lookupTimeoutMs }: AuthConfig): Promise<void> {
  return withDeadline(issuers[0].jwks.ready(), lookupTimeoutMs)
}

/** The ids of a session that doesn't exist, and of its user. They are neither numbers nor UUIDs. */
export const PROBE_ID = 'health-check'

/** Looks up a session that doesn't exist. Throws whatever makes Step 2 fail. */
export async function checkLookup({ lookupTimeoutMs }: AuthConfig, sessions: SessionReader): Promise<void> {
  const probe = { sessionId: PROBE_ID, userId: PROBE_ID }
  await withDeadline(Promise.resolve(sessions.findSession(probe)), lookupTimeoutMs)
}

/** Runs every check. @throws ConfigurationError that lists every problem, one per line */
export async function requireReady(checks: readonly (() => unknown)[]): Promise<void> {
  const results = await Promise.allSettled(checks.map(async (check) => check()))
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  // An invalid configuration fails every check.
  const problems = new Set(errors.map(describe))
  if (problems.size === 0) return
  const cause = problems.size === 1 ? errors[0] : new AggregateError(errors)
  throw new ConfigurationError([...problems].join('\n'), { cause })
}

function describe(error: unknown): string {
  if (isAuthError(error) && error.cause !== undefined)
    return isConfigurationError(error.cause)
      ? error.cause.message
      : `${error.reason}: ${describe(error.cause)}`
  // Drizzle's message is the query, and its cause the problem.
  const errors = errorAndCauses(error)
  const problem = errors.find(isConfigurationError) ?? errors.at(-1) ?? error
  const { message, code }: { message?: unknown; code?: unknown } = Object(problem)
  // Errors of several addresses have a code and no message.
  return String(message || code || problem)
}
