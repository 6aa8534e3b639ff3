/** PostgreSQL undid a transaction for the sake of another: a deadlock, or a row that changed under `repeatable read`. */
const CONFLICTS = new Set<unknown>(['40P01', '40001'])

/** Whether a transaction failed for no fault of its own, so that it may be tried again. Looks through wrapped errors. */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && CONFLICTS.has(error.code)) || isConflict(error.cause)
}
