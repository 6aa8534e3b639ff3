import { errorAndCauses } from '../protocol/causes.ts'

/** PostgreSQL or Prisma aborted a transaction: a deadlock, or a row that changed under `repeatable read`. */
const CONFLICTS = new Set<unknown>(['40P01', '40001', 'P2034'])

/** Returns whether a transaction can be retried because a concurrent one aborted it. Checks causes too. */
export function isConflict(error: unknown): boolean {
  return errorAndCauses(error).some((each) => 'code' in each && CONFLICTS.has(each.code))
}

/** Returns whether a statement failed because another row has the same unique value. */
export function isDuplicate(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE'
}

/** Returns an error that {@link isConflict} accepts, for a transaction that works when it is repeated. */
export function asConflict(cause: unknown): Error {
  return Object.assign(new Error('The transaction can be repeated', { cause }), { code: '40001' })
}
