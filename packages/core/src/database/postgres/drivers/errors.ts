import { AuthError, isAuthError } from '../../../protocol/errors.ts'
import { isConflict } from '../../../session/conflict.ts'
import { sqlState } from '../../sql-state.ts'

/** Wrong SQL, a value of the wrong type, a broken constraint, or the state of the transaction. */
const STATEMENT_FAULTS = /^(0A|21|22|23|25P02|2F|34|3B|42|44|P0)/

/** Returns whether the statement failed, and the connection still works. */
export function isStatementFault(error: unknown): boolean {
  const state = sqlState(error)
  return isConflict(error) || (state !== null && STATEMENT_FAULTS.test(state))
}

/** Turns every error that isn't the statement's fault into `SESSIONS_UNAVAILABLE`. */
export function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  return work.catch((error: unknown) => {
    if (isAuthError(error) || isStatementFault(error)) throw error
    throw new AuthError('SESSIONS_UNAVAILABLE', { cause: error })
  })
}
