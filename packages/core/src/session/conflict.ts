/**
 * PostgreSQL aborted a transaction in favor of another: a deadlock, or a row that changed under `repeatable
 * read`.
 */
const CONFLICTS = new Set<unknown>(['40P01', '40001'])

/**
 * Returns whether a transaction failed because of a concurrent one, so it can be retried. Looks through
 * causes.
 */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && CONFLICTS.has(error.code)) || isConflict(error.cause)
}
